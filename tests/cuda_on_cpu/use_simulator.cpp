// The programs of the other tests, built for CUDA and run on the simulator: this executable has the test
// cases of tests/program and tests/fuzz, too.
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
