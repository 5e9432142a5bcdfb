// CUDA streams and events.
//
// Programs run on CUDA's default stream, which orders them after and before whatever else uses that stream
// (PyTorch, CuPy and plain kernel launches do) or a stream made by cudaStreamCreate. A StreamScope has them
// run on a stream of the user's instead. The user may destroy that stream when the scope has ended: what was
// started on it is known from then on by an event recorded at the end.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/stream_scratch.h"
#include "runtime/stream.h"

namespace sinter::runtime::cuda {

class CudaDevice;

/// Events for reuse; they are kept to order work and measure no time.
class EventPool {
 public:
  explicit EventPool(CudaDevice& device) : device_(device) {}
  cudaEvent_t take();
  void give_back(cudaEvent_t event) noexcept;
  CudaDevice& device() const { return device_; }

 private:
  CudaDevice& device_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> idle_;
};

/// An event recorded on a stream.
class Event {
 public:
  Event(EventPool& pool, cudaStream_t stream);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { pool_.give_back(event_); }

  cudaEvent_t get() const { return event_; }
  bool passed() const;
  void wait() const;

 private:
  EventPool& pool_;
  cudaEvent_t event_;
};

class CudaStream final : public Stream {
 public:
  /// `id` is what cudaStreamGetId says, which is never used again, unlike handles.
  CudaStream(CudaDevice& device, cudaStream_t handle, unsigned long long id)
      : device_(device), handle_(handle), id_(id), scratch_(device, handle) {}

  std::unique_ptr<Mark> mark() override;
  void follow(Stream& other) override;

  cudaStream_t handle() const { return handle_; }
  unsigned long long id() const { return id_; }
  CudaDevice& device() const { return device_; }
  StreamScratch& scratch() { return scratch_; }

  // A stream of the user's is open while scopes use it.
  void open();
  void close() noexcept;

 private:
  std::shared_ptr<const Event> event_now();

  CudaDevice& device_;
  const cudaStream_t handle_;
  const unsigned long long id_;
  std::mutex mutex_;
  int scopes_ = 0;
  bool was_closed_ = false;             // with no scope the handle may be gone
  std::shared_ptr<const Event> ended_;  // the end of what was started; none when it has run
  StreamScratch scratch_;
};

}  // namespace sinter::runtime::cuda
