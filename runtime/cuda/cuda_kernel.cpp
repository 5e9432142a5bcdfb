#include "runtime/cuda/cuda_kernel.h"

#include <cuda_runtime_api.h>

#include "ir/base/check.h"
#include "runtime/cuda/cuda_device.h"

namespace sinter::runtime {
namespace {

/// Makes a GPU the calling thread's current one, and gives it back the one it had.
class CurrentDevice {
 public:
  CurrentDevice(const std::string& kernel, int device) {
    cudaError_t error = cudaGetDevice(&before_);
    if (error == cudaSuccess) error = cudaSetDevice(device);
    if (error != cudaSuccess) {
      cudaGetLastError();  // so that no later call finds it
      fail<DeviceError>("kernel {}: GPU {} cannot be used: {}", kernel, device, cudaGetErrorString(error));
    }
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

}  // namespace

std::shared_ptr<const CudaKernel> CudaKernel::load(const std::string& name, const std::string& entry,
                                                   std::string_view image, int device) {
  const CurrentDevice current(name, device);
  const std::shared_ptr<CudaKernel> kernel(new CudaKernel(name));
  const auto check = [&](cudaError_t error, const char* doing) {
    if (error == cudaSuccess) return;
    cudaGetLastError();
    cuda::device(device).check_work(error, "loading a kernel");
    fail<CompileError>("kernel {}: the driver refuses it on {}: {}", name, doing, cudaGetErrorString(error));
  };
  const std::string terminated(image);  // as PTX must be
  cudaLibrary_t library = nullptr;
  check(cudaLibraryLoadData(&library, terminated.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading");
  kernel->library_ = library;
  cudaKernel_t function = nullptr;
  check(cudaLibraryGetKernel(&function, library, entry.c_str()), "looking for its entry");
  kernel->function_ = reinterpret_cast<const void*>(function);
  // Loading is lazy; asking for the attributes ends it.
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel->function_), "preparing it for the GPU");
  kernel->registers_ = attributes.numRegs;
  kernel->shared_bytes_ = static_cast<int>(attributes.sharedSizeBytes);
  kernel->local_bytes_ = static_cast<int>(attributes.localSizeBytes);
  kernel->max_block_threads_ = attributes.maxThreadsPerBlock;
  return kernel;
}

CudaKernel::~CudaKernel() {
  if (library_ != nullptr) cudaLibraryUnload(static_cast<cudaLibrary_t>(library_));
}

}  // namespace sinter::runtime
