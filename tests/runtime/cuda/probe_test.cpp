// What is said of machines without a usable GPU, by what their driver says.
#include "runtime/cuda/probe.h"

#include <cuda_runtime_api.h>

#include "tests/catch.h"

using namespace sinter::runtime;
using namespace sinter::runtime::cuda;
using Catch::Matchers::ContainsSubstring;

namespace {

CudaState judged(const DriverFacts& facts) {
  CudaState state;
  state.runtime = 13000;
  judge(facts, state);
  return state;
}

DriverFacts working_driver() {
  DriverFacts facts;
  facts.library = true;
  facts.version = 13000;
  facts.count = 1;
  return facts;
}

}  // namespace

TEST_CASE("a driver of the same major version and a GPU are all that is needed") {
  CHECK(judged(working_driver()).usable());
  DriverFacts newer = working_driver();
  newer.version = 14020;
  CHECK(judged(newer).usable());
}

TEST_CASE("each reason for which no GPU can be used is told apart") {
  DriverFacts none;
  none.library_error = "libcuda.so.1: cannot open shared object file";
  CHECK(judged(none).driver_is_missing);
  CHECK_THAT(judged(none).reason, ContainsSubstring("libcuda.so.1 does not load: libcuda.so.1: cannot open"));

  DriverFacts old = working_driver();
  old.version = 12040;
  CHECK_THAT(judged(old).reason,
             ContainsSubstring("too old: it knows CUDA up to 12.4, and this build needs 13.0"));
  CHECK_THAT(judged(old).hint, ContainsSubstring("13.0"));

  DriverFacts empty = working_driver();
  empty.count = 0;
  empty.error = cudaErrorNoDevice;
  CHECK(judged(empty).reason == "the driver finds no GPU");
  empty.visible = "";
  CHECK_THAT(judged(empty).reason, ContainsSubstring("CUDA_VISIBLE_DEVICES is \"\""));

  DriverFacts broken = working_driver();
  broken.error = cudaErrorSystemDriverMismatch;
  broken.error_text = "system has unsupported display driver / cuda driver combination";
  CHECK_THAT(judged(broken).reason, ContainsSubstring("does not start: error 803, system has unsupported"));
}

TEST_CASE("a GPU older than the oldest architecture is refused by name of its capability") {
  CHECK(capability_fault(75).empty());
  CHECK_THAT(capability_fault(70), ContainsSubstring("7.0"));
}

TEST_CASE("code is generated for the GPU's architecture, or the newest one that its driver can run") {
  CHECK(architecture_for(75) == "sm_75");
  CHECK(architecture_for(80) == "sm_80");
  CHECK(architecture_for(90) == "sm_90a");
  CHECK(architecture_for(120) == "sm_120");
  CHECK(architecture_for(99) == "sm_90");  // unknown: never one with a suffix
  CHECK(architecture_for(122) == "sm_121");
  CHECK(architecture_for(130) == "compute_121");  // machine code of another major would not load
}
