// What a GPU runs: kernels and products, each under its name in profilers.
#include <nvtx3/nvToolsExt.h>

#include <array>

#include "ir/base/check.h"
#include "ir/base/settings.h"
#include "runtime/buffer.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/cuda_matmul.h"
#include "runtime/kernel_params.h"
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

namespace {

/// How many blocks make a cluster on any GPU that has them; more are asked for by name.
constexpr int portable_cluster = 8;

/// How a kernel is launched. It points to itself.
struct LaunchConfig {
  std::array<cudaLaunchAttribute, 2> attributes{};
  cudaLaunchConfig_t config{};

  LaunchConfig(const KernelLaunch& launch, cudaStream_t stream) {
    if (launch.cluster > 1)
      add(cudaLaunchAttributeClusterDimension).clusterDim = {static_cast<unsigned>(launch.cluster), 1, 1};
    if (launch.early)
      add(cudaLaunchAttributeProgrammaticStreamSerialization).programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(static_cast<unsigned>(launch.units));
    config.blockDim = dim3(static_cast<unsigned>(launch.block_threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
    config.stream = stream;
    config.attrs = attributes.data();
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

 private:
  cudaLaunchAttributeValue& add(cudaLaunchAttributeID id) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = id;
    return attribute.val;
  }
};

}  // namespace

void CudaDevice::allow_shared_memory(const KernelLaunch& launch, const CudaKernel& kernel) {
  if (launch.shared_bytes == 0) return;
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal()), launch.name);
  most -= kernel.shared_bytes();
  if (launch.shared_bytes > most)
    sinter::fail<DeviceError>(
        "kernel {}: is launched with {} bytes of shared memory a block beside {} of its own, and {} has {} "
        "for it",
        launch.name, launch.shared_bytes, kernel.shared_bytes(), name(), most);
  // All that there is: another program may launch the same kernel with more than this one.
  check(cudaFuncSetAttribute(kernel.function(), cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        launch.name);
}

void CudaDevice::allow_cluster(const KernelLaunch& launch, const CudaKernel& kernel) {
  if (launch.cluster == 1) return;
  if (launch.cluster > portable_cluster)
    check(cudaFuncSetAttribute(kernel.function(), cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          launch.name);
  const LaunchConfig cluster(launch, nullptr);
  int at_once = 0;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&at_once, kernel.function(), &cluster.config);
  if (error != cudaSuccess) cudaGetLastError();  // so that no later call finds it
  check_work(error, launch.name);
  if (error != cudaSuccess || at_once == 0)
    sinter::fail<DeviceError>(
        "kernel {}: is launched in clusters of {} blocks of {} threads and {} bytes of shared memory, and {} "
        "has no room for one",
        launch.name, launch.cluster, launch.block_threads, launch.shared_bytes, name());
}

void CudaDevice::allow_waiting(const KernelLaunch& launch, const CudaKernel& kernel) {
  if (launch.together == 1) return;
  int of_processor = 0, processors = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_processor, kernel.function(), launch.block_threads,
                                                      static_cast<std::size_t>(launch.shared_bytes)),
        launch.name);
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal()), launch.name);
  if (of_processor * processors < launch.together)
    sinter::fail<DeviceError>(
        "kernel {}: {} of its blocks wait for each other, and {} has room for {} at a time", launch.name,
        launch.together, name(), of_processor * processors);
}

void CudaDevice::check_kernel(const KernelLaunch& launch, const LoadedKernel& kernel) {
  const auto& loaded = static_cast<const CudaKernel&>(kernel);
  if (launch.block_threads > loaded.max_block_threads())
    sinter::fail<DeviceError>(
        "kernel {}: is launched with {} threads a block, and {} allows {}: each thread takes {} registers",
        launch.name, launch.block_threads, name(), loaded.max_block_threads(), loaded.registers());
  const DeviceScope scope(*this);
  allow_shared_memory(launch, loaded);
  allow_cluster(launch, loaded);
  allow_waiting(launch, loaded);
}

void CudaDevice::run_kernel(const KernelLaunch& launch, const LoadedKernel& kernel,
                            std::span<std::byte> params) {
  SINTER_ASSERT(launch.phases == 1, "CUDA kernels have one phase");
  const DeviceScope scope(*this);
  if (!launch.scratch.empty()) {
    const StreamScratch::Memory memory =
        static_cast<CudaStream&>(*stream()).scratch().get(launch.scratch_bytes, launch.counter_bytes);
    put_scratch(launch, params, memory.working, memory.counters);
  }
  const Range range(launch.name);
  void* arguments[] = {params.data()};
  note_launch(launch.name);
  const LaunchConfig as(launch, stream_handle());
  check(cudaLaunchKernelExC(&as.config, static_cast<const CudaKernel&>(kernel).function(), arguments),
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
