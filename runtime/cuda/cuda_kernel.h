// A kernel on the GPU, loaded by the CUDA runtime's library calls, which need no libcuda at link time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/toolchain.h"

namespace sinter::runtime {

class CudaKernel final : public LoadedKernel {
 public:
  /// Loads a cubin or PTX and finds the kernel `entry` in it, on the GPU `device`; it then serves all GPUs of
  /// the same architecture. `name` is for messages. Throws CompileError where the driver refuses it, and
  /// DeviceError where there is no usable GPU.
  static std::shared_ptr<const CudaKernel> load(const std::string& name, const std::string& entry,
                                                std::string_view image, int device);

  ~CudaKernel() override;

  /// What cudaLaunchKernel takes.
  const void* function() const { return function_; }

  const std::string& name() const { return name_; }
  int registers() const { return registers_; }                  // per thread
  int shared_bytes() const { return shared_bytes_; }            // per block, declared by the kernel itself
  int local_bytes() const { return local_bytes_; }              // per thread: stack and spills
  int max_block_threads() const { return max_block_threads_; }  // that its registers allow

 private:
  explicit CudaKernel(std::string name) : name_(std::move(name)) {}

  std::string name_;
  void* library_ = nullptr;         // cudaLibrary_t
  const void* function_ = nullptr;  // cudaKernel_t
  int registers_ = 0, shared_bytes_ = 0, local_bytes_ = 0, max_block_threads_ = 0;
};

}  // namespace sinter::runtime
