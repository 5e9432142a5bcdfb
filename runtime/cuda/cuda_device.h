// A GPU: its memory, its streams, and its errors.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/allocator.h"
#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/device.h"

namespace sinter::runtime::cuda {

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, const Gpu& gpu);

  std::string description() const override { return gpu_.name; }
  CachingAllocator& allocator() override { return allocator_; }
  const std::shared_ptr<Stream>& stream() override;
  void synchronize() override;
  void copy_from_host(void* to, const void* from, std::int64_t bytes) override;
  void copy_to_host(void* to, const void* from, std::int64_t bytes) override;
  void copy_from_peer(void* to, Device& peer, const void* from, std::int64_t bytes) override;
  void fill(void* to, std::uint64_t bits, int size, std::int64_t count) override;
  void check_reach(const void* address) override;
  void check_kernel(const KernelLaunch& launch, const LoadedKernel& kernel) override;
  void run_kernel(const KernelLaunch& launch, const LoadedKernel& kernel,
                  std::span<std::byte> params) override;
  void run_matmul(const MatmulLaunch& launch) override;
  std::unique_ptr<Stopwatch> stopwatch() override;
  void begin_range(const char* name) override;
  void end_range() override;

  int ordinal() const { return id().ordinal; }
  const Gpu& gpu() const { return gpu_; }
  /// The handle of stream().
  cudaStream_t stream_handle() { return static_cast<CudaStream&>(*stream()).handle(); }
  EventPool& events() { return events_; }
  /// The object for a stream of the user's, the same one as long as anything refers to it.
  std::shared_ptr<CudaStream> stream_of(cudaStream_t handle);

  /// Throws DeviceError for an error, with what was being done. Work that failed while it ran leaves a GPU of
  /// no more use to the process: the error then names the kernel that was launched last, and is thrown again
  /// by every later call.
  void check(cudaError_t error, const char* doing) {
    if (error != cudaSuccess) [[unlikely]]
      fail(error, doing);
  }
  /// Throws as check() does if the error is one of work that ran before, whatever call found it.
  void check_work(cudaError_t error, const char* doing);
  /// Throws DeviceError when the device is lost, or cannot be used in a child made by fork().
  void require_alive() const;
  /// `name` lives as long as the process.
  void note_launch(const char* name) { last_kernel_.store(name, std::memory_order_relaxed); }

 private:
  [[noreturn]] void fail(cudaError_t error, const char* doing);
  void allow_shared_memory(const KernelLaunch& launch, const CudaKernel& kernel);
  void allow_cluster(const KernelLaunch& launch, const CudaKernel& kernel);
  void allow_waiting(const KernelLaunch& launch, const CudaKernel& kernel);

  class Memory final : public BlockSource {
   public:
    explicit Memory(CudaDevice& device) : device_(device) {}
    void* take(std::int64_t bytes) override;
    void give_back(void* data, std::int64_t bytes) noexcept override;
    std::string name() const override { return device_.name(); }
    std::string state() const override;

   private:
    CudaDevice& device_;
  };

  const Gpu gpu_;
  Memory memory_;
  EventPool events_;
  CachingAllocator allocator_;
  std::shared_ptr<CudaStream> default_cuda_stream_;
  std::shared_ptr<Stream> default_stream_;  // the same
  std::mutex streams_mutex_;
  std::map<unsigned long long, std::weak_ptr<CudaStream>> streams_;  // of the user's, by id
  std::atomic<const char*> last_kernel_ = nullptr;
  std::atomic<bool> lost_ = false;
  mutable std::mutex lost_mutex_;
  std::string lost_because_;
};

/// The GPU of that number; throws DeviceError, saying why, if it cannot be used.
CudaDevice& device(int ordinal);

void synchronize_all();

/// Makes the device CUDA's current one for this thread, and the one before it at the end. Throws as
/// require_alive does.
class DeviceScope {
 public:
  explicit DeviceScope(CudaDevice& device);
  ~DeviceScope() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = -1;  // none to go back to
};

}  // namespace sinter::runtime::cuda
