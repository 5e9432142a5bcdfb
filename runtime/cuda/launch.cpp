// What a GPU runs: kernels and products, each under its name in profilers.
#include <nvtx3/nvToolsExt.h>

#include "ir/base/check.h"
#include "ir/base/settings.h"
#include "runtime/buffer.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/cuda_matmul.h"
#include "runtime/steps.h"

namespace sinter::runtime::cuda {
namespace {

/// What is launched while it lives; costs nothing when no profiler looks on.
class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace

void CudaDevice::check_kernel(const KernelLaunch& launch, const LoadedKernel& kernel) {
  const auto& loaded = static_cast<const CudaKernel&>(kernel);
  if (launch.block_threads > loaded.max_block_threads())
    sinter::fail<DeviceError>(
        "kernel {}: is launched with {} threads a block, and {} allows {}: each thread takes {} registers",
        launch.name, launch.block_threads, name(), loaded.max_block_threads(), loaded.registers());
}

void CudaDevice::run_kernel(const KernelLaunch& launch, const LoadedKernel& kernel,
                            std::span<std::byte> params) {
  SINTER_ASSERT(launch.phases == 1 && launch.scratch_bytes == 0, "CUDA kernels have one phase");
  const DeviceScope scope(*this);
  const Range range(launch.name);
  void* arguments[] = {params.data()};
  note_launch(launch.name);
  check(cudaLaunchKernel(static_cast<const CudaKernel&>(kernel).function(),
                         dim3(static_cast<unsigned>(launch.units)),
                         dim3(static_cast<unsigned>(launch.block_threads)), arguments, 0, stream_handle()),
        launch.name);
}

void CudaDevice::run_matmul(const MatmulLaunch& launch) {
  const DeviceScope scope(*this);
  const Range range("matmul");
  note_launch("matmul");
  const std::shared_ptr<Buffer> workspace = Buffer::allocate(matmul_workspace_bytes, *this);
  MatmulOptions options;
  options.bias = launch.bias;
  options.tf32 = settings().tf32;
  options.workspace = workspace->data();
  options.workspace_bytes = workspace->bytes();
  matmul(launch.dtype, launch.shape, launch.a, launch.b, launch.c, options, stream_handle(), ordinal());
}

void CudaDevice::begin_range(const char* name) {
  nvtxRangePushA(name);
}

void CudaDevice::end_range() {
  nvtxRangePop();
}

}  // namespace sinter::runtime::cuda
