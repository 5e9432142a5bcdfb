// Times of launches, by events on the stream on which they run. Other data go through the last-level cache
// before each, since what a kernel reads is seldom there when it is large.
#include <chrono>

#include "ir/base/log.h"
#include "runtime/buffer.h"
#include "runtime/cuda/cuda_device.h"
#include "sinter/error.h"

namespace sinter::runtime::cuda {
namespace {

/// Whether the stream records what it is given, or no stream may run anything because another does.
bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  cudaGetLastError();
  return true;
}

class TimingEvent {
 public:
  explicit TimingEvent(CudaDevice& device) { device.check(cudaEventCreate(&event_), "making an event"); }
  TimingEvent(const TimingEvent&) = delete;
  TimingEvent& operator=(const TimingEvent&) = delete;
  ~TimingEvent() { cudaEventDestroy(event_); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaStopwatch final : public Stopwatch {
 public:
  explicit CudaStopwatch(CudaDevice& device)
      : device_(device), scope_(device), begin_(device), end_(device), others_(take_others(device)) {}

  double time(const std::function<void()>& start) override {
    const cudaStream_t on = device_.stream_handle();
    if (others_)
      device_.check(cudaMemsetAsync(others_->data(), 0, static_cast<std::size_t>(others_->bytes()), on),
                    "writing to the cache");
    device_.check(cudaEventRecord(begin_.get(), on), "recording an event");
    start();
    device_.check(cudaEventRecord(end_.get(), on), "recording an event");
    device_.check(cudaEventSynchronize(end_.get()), "waiting for an event");
    float milliseconds = 0;
    device_.check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "reading the clock");
    return double{milliseconds} * 1e-3;
  }

  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

 private:
  /// Twice as large as the last-level cache; null where there is no room for it.
  static std::shared_ptr<Buffer> take_others(CudaDevice& device) {
    int cache_bytes = 0;
    device.check(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device.ordinal()),
                 "asking for the size of the cache");
    if (cache_bytes == 0) return nullptr;
    try {
      return Buffer::allocate(std::int64_t{2} * cache_bytes, device);
    } catch (const DeviceError& error) {
      log(Topic::timing, "kernels are timed with what the cache holds: {}", error.what());
      return nullptr;
    }
  }

  CudaDevice& device_;
  DeviceScope scope_;  // events belong to the device that was current when they were made
  TimingEvent begin_, end_;
  std::shared_ptr<Buffer> others_;
};

}  // namespace

std::unique_ptr<Stopwatch> CudaDevice::stopwatch() {
  const DeviceScope scope(*this);
  if (is_captured(stream_handle())) return nullptr;
  return std::make_unique<CudaStopwatch>(*this);
}

}  // namespace sinter::runtime::cuda
