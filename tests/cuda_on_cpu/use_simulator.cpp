// An executable with this file runs programs on the simulator: its test cases, written for any device, hold
// for CUDA kernels.
#include "tests/cuda_on_cpu/run_program.h"
#include "tests/support/run_program.h"

namespace sinter::testing {
namespace {

const bool runner_is_set = [] {
  program_runner() = {codegen::Target::cuda("sm_90a"), cuda_on_cpu::run_program};
  return true;
}();

}  // namespace
}  // namespace sinter::testing
