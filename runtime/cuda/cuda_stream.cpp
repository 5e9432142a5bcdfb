#include "runtime/cuda/cuda_stream.h"

#include "runtime/cuda/cuda_device.h"

namespace sinter::runtime::cuda {
namespace {

class CudaMark final : public Mark {
 public:
  explicit CudaMark(std::shared_ptr<const Event> event) : event_(std::move(event)) {}
  bool passed() override { return !event_ || event_->passed(); }
  void wait() override {
    if (event_) event_->wait();
  }

 private:
  const std::shared_ptr<const Event> event_;  // null: it has run
};

}  // namespace

cudaEvent_t EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const cudaEvent_t event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  const DeviceScope scope(device_);
  cudaEvent_t event = nullptr;
  device_.check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  return event;
}

void EventPool::give_back(cudaEvent_t event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    idle_.push_back(event);
  } catch (const std::bad_alloc&) {
    cudaEventDestroy(event);
  }
}

Event::Event(EventPool& pool, cudaStream_t stream) : pool_(pool), event_(pool.take()) {
  const DeviceScope scope(pool.device());
  const cudaError_t error = cudaEventRecord(event_, stream);
  if (error == cudaSuccess) return;
  pool_.give_back(event_);
  pool_.device().check(error, "recording an event");
}

bool Event::passed() const {
  const DeviceScope scope(pool_.device());
  const cudaError_t error = cudaEventQuery(event_);
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  pool_.device().check(error, "asking for an event");
  return true;
}

void Event::wait() const {
  const DeviceScope scope(pool_.device());
  pool_.device().check(cudaEventSynchronize(event_), "waiting for an event");
}

void CudaStream::open() {
  const std::lock_guard lock(mutex_);
  ++scopes_;
}

void CudaStream::close() noexcept {
  const std::lock_guard lock(mutex_);
  try {
    ended_ = std::make_shared<const Event>(device_.events(), handle_);
  } catch (const std::exception&) {  // a lost device says so at the next call
    ended_ = nullptr;
  }
  was_closed_ = true;
  --scopes_;
}

/// The end of what was started so far; null when that has run.
std::shared_ptr<const Event> CudaStream::event_now() {
  const std::lock_guard lock(mutex_);
  if (scopes_ > 0 || !was_closed_) return std::make_shared<const Event>(device_.events(), handle_);
  if (ended_ && ended_->passed()) ended_ = nullptr;
  return ended_;
}

std::unique_ptr<Mark> CudaStream::mark() {
  return std::make_unique<CudaMark>(event_now());
}

void CudaStream::follow(Stream& other) {
  const std::shared_ptr<const Event> event = static_cast<CudaStream&>(other).event_now();
  if (!event) return;
  const DeviceScope scope(device_);
  device_.check(cudaStreamWaitEvent(handle_, event->get(), 0), "ordering two streams");
}

}  // namespace sinter::runtime::cuda
