// For tests that need a GPU.
#pragma once

#include "ir/base/settings.h"
#include "runtime/device.h"
#include "tests/catch.h"

namespace sinter::testing {

/// The first GPU; without one the test is skipped, or fails under SINTER_REQUIRE_GPU.
inline runtime::Device& need_gpu() {
  const runtime::CudaState& cuda = runtime::cuda_state();
  if (!cuda.usable()) {
    if (settings().require_gpu) FAIL(cuda.reason);
    SINTER_SKIP(cuda.reason);
  }
  return runtime::device(runtime::DeviceId::cuda());
}

}  // namespace sinter::testing
