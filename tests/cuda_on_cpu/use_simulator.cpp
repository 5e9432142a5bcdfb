// An executable with this file runs programs on the simulator: its test cases, written for any device, hold
// for CUDA kernels.
#include "tests/cuda_on_cpu/run_program.h"
#include "tests/support/run_program.h"

namespace sinter::testing {
namespace {

ProgramRunner runner_on_simulator() {
  return {codegen::Target::cuda("sm_90a"), cuda_on_cpu::run_program};
}

const bool is_set = [] {
  make_program_runner = runner_on_simulator;
  return true;
}();

}  // namespace
}  // namespace sinter::testing
