#include "runtime/cuda/stream_scratch.h"

#include <algorithm>

#include "runtime/cuda/cuda_device.h"

namespace sinter::runtime::cuda {
namespace {

/// Lets this thread allocate while some stream is captured.
class AllocatesInCaptures {
 public:
  AllocatesInCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~AllocatesInCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  AllocatesInCaptures(const AllocatesInCaptures&) = delete;
  AllocatesInCaptures& operator=(const AllocatesInCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The id of the capture that the stream is in, or 0.
unsigned long long capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  if (cudaStreamGetCaptureInfo(stream, &status, &id) != cudaSuccess) cudaGetLastError();
  return status == cudaStreamCaptureStatusActive ? id : 0;
}

}  // namespace

StreamScratch::~StreamScratch() {
  try {
    const DeviceScope scope(device_);
    for (void* data : taken_) cudaFree(data);  // waits for what works on it
    cudaGetLastError();
  } catch (const std::exception&) {  // with the device its memory is gone
  }
}

StreamScratch::Memory StreamScratch::get(std::size_t working_bytes, std::size_t counter_bytes) {
  const unsigned long long capture = capture_of(stream_);
  const std::lock_guard lock(mutex_);
  Pair& pair = capture != 0 ? captured_[capture] : own_;
  const auto grow = [&](Block& block, std::size_t bytes, bool clear) {
    if (bytes <= block.bytes) return;
    const Block grown = larger(block, bytes, clear);
    if (capture == 0) taken_.push_back(grown.data);
    block = grown;
  };
  grow(pair.working, working_bytes, false);
  grow(pair.counters, counter_bytes, true);
  return {pair.working.data, pair.counters.data};
}

StreamScratch::Block StreamScratch::larger(const Block& block, std::size_t bytes, bool clear) {
  constexpr std::size_t least = 64 << 10;
  const std::size_t size = std::max({least, bytes, 2 * block.bytes});
  const AllocatesInCaptures allocates;
  void* data = nullptr;
  cudaError_t error = cudaMalloc(&data, size);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    device_.allocator().trim();
    error = cudaMalloc(&data, size);
  }
  device_.check(error, "allocating working memory for kernels");
  if (clear) {
    error = cudaMemsetAsync(data, 0, size, stream_);
    if (error != cudaSuccess) cudaFree(data);
    device_.check(error, "clearing the counters of kernels");
  }
  return {static_cast<std::byte*>(data), size};
}

}  // namespace sinter::runtime::cuda
