// Working memory of kernels whose blocks hand results to each other: partial results, which mean nothing
// before and after a launch, and counters, which are 0 before and after. Launches on one stream follow each
// other and share it; each stream has its own. It grows, and what it has outgrown is kept as long as the
// stream, since launches before may still work on it.
//
// A graph that the user captures runs again whenever the user wants, so that what is captured gets memory of
// its own, which is never freed, and whose counters the graph clears at its start. As for any graph with
// memory in it, two of one capture must not run at once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace sinter::runtime::cuda {

class CudaDevice;

class StreamScratch {
 public:
  struct Memory {
    std::byte *working, *counters;
  };

  StreamScratch(CudaDevice& device, cudaStream_t stream) : device_(device), stream_(stream) {}
  StreamScratch(const StreamScratch&) = delete;
  StreamScratch& operator=(const StreamScratch&) = delete;
  ~StreamScratch();

  /// At least that much, for one launch on the stream; its device is the current one. Throws DeviceError
  /// where there is no memory. Safe to call from many threads.
  Memory get(std::size_t working_bytes, std::size_t counter_bytes);

 private:
  struct Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Pair {
    Block working, counters;
  };

  Block larger(const Block& block, std::size_t bytes, bool clear);

  CudaDevice& device_;
  const cudaStream_t stream_;
  std::mutex mutex_;
  Pair own_;
  std::map<unsigned long long, Pair> captured_;  // by the capture's id
  std::vector<void*> taken_;                     // but for captures
};

}  // namespace sinter::runtime::cuda
