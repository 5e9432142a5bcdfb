#include <cuda_runtime_api.h>
#include <sinter/error.h>

#include <array>
#include <chrono>
#include <string>

#include "samples/bench/stopwatch.h"

namespace bench {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t flush_bytes = 256 * mib;  // several times the largest last-level cache of a GPU
constexpr std::size_t copy_bytes = 2048 * mib;

void check(cudaError_t error, const char* doing) {
  if (error != cudaSuccess) throw sinter::DeviceError(std::string(doing) + ": " + cudaGetErrorString(error));
}

class Block {
 public:
  explicit Block(std::size_t bytes) { check(cudaMalloc(&data_, bytes), "taking memory of the GPU"); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { cudaFree(data_); }
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  explicit Stream(int gpu) {
    check(cudaSetDevice(gpu), "choosing the GPU");
    check(cudaStreamCreate(&stream_), "making a stream");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "making an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording an event"); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class GpuStopwatch final : public Stopwatch {
 public:
  explicit GpuStopwatch(const sinter::Device& device)
      : stream_(device.ordinal()), scope_(stream_.get(), device), flushed_(flush_bytes) {}

  Timing measure(double seconds, const std::function<void()>& before,
                 const std::function<void()>& timed) override {
    constexpr std::size_t fewest = 5, most = 1000;
    before();
    timed();
    wait();
    std::vector<double> times;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (times.size() < fewest || (times.size() < most && std::chrono::steady_clock::now() < end))
      add_repetitions(before, timed, times);
    return summarize(std::move(times));
  }

  double copy_bandwidth(double seconds) override {
    const Block from(copy_bytes), to(copy_bytes);
    check(cudaMemsetAsync(from.get(), 1, copy_bytes, stream_.get()), "filling memory");
    const auto copy = [&] {
      check(cudaMemcpyAsync(to.get(), from.get(), copy_bytes, cudaMemcpyDeviceToDevice, stream_.get()),
            "copying memory");
    };
    const Timing timing = measure(
        seconds, [] {}, copy);
    return 2 * static_cast<double>(copy_bytes) / timing.median / 1e6;
  }

  std::string method() const override {
    return "device time by CUDA events; 256 MB are written before every repetition, so that nothing is left "
           "in the "
           "last-level cache; copies are those of cudaMemcpyAsync";
  }

 private:
  // Several repetitions are under way at once, so that the GPU never waits for the host between them.
  static constexpr std::size_t together = 5;
  struct Repetition {
    Event begin, end;
  };

  void add_repetitions(const std::function<void()>& before, const std::function<void()>& timed,
                       std::vector<double>& times) {
    for (Repetition& repetition : repetitions_) {
      before();
      check(cudaMemsetAsync(flushed_.get(), 0, flush_bytes, stream_.get()), "clearing the cache");
      repetition.begin.record(stream_.get());
      timed();
      repetition.end.record(stream_.get());
    }
    wait();
    for (Repetition& repetition : repetitions_) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, repetition.begin.get(), repetition.end.get()),
            "reading the clock");
      times.push_back(milliseconds);
    }
  }

  void wait() { check(cudaStreamSynchronize(stream_.get()), "waiting for the GPU"); }

  Stream stream_;
  sinter::StreamScope scope_;
  Block flushed_;
  std::array<Repetition, together> repetitions_;
};

}  // namespace

std::unique_ptr<Stopwatch> gpu_stopwatch(const sinter::Device& device) {
  return std::make_unique<GpuStopwatch>(device);
}

}  // namespace bench
