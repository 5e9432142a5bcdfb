// Memory for tensors, kept for reuse.
//
// A block that is freed stays with its device and goes to the next request of its size class, so that a
// program run again and again neither asks the system for memory nor waits for the device. Idle blocks beyond
// a bound go back, and all of them do before a request is refused, which may then still be served by a block
// of just its size.
//
// On a device with streams a block belongs to the stream that it was allocated for: freed, it serves that
// stream again at once, since whatever still reads it there runs before whatever will write it. Another
// stream gets it only once all work that may touch it has run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/stream.h"

namespace sinter::runtime {

/// Bytes that a block for a request of `bytes` has: a multiple of 64, at most a quarter more than asked for
/// (at least 64). Blocks of 2 MiB and more are aligned to that and backed by huge pages where the system has
/// them.
std::int64_t block_bytes(std::int64_t bytes);

/// Where blocks come from: a device's memory.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// Memory of that many bytes, or null when there is none left.
  virtual void* take(std::int64_t bytes) = 0;
  /// Gives back what take(bytes) gave. Nothing touches it any more.
  virtual void give_back(void* data, std::int64_t bytes) noexcept = 0;
  /// Whose memory it is, for messages: "cpu".
  virtual std::string name() const = 0;
  /// What else there is to say when it is out: ", 12 of 144 bytes free on the device", or nothing.
  virtual std::string state() const { return {}; }
};

struct AllocatorStats {
  std::int64_t in_use = 0, cached = 0;  // bytes of blocks
  std::int64_t peak = 0;                // of in_use
  std::int64_t requests = 0;
  std::int64_t system_requests = 0;  // those that no idle block could serve
};

class CachingAllocator {
 public:
  using StreamPointer = std::shared_ptr<Stream>;

  /// Keeps up to `idle_limit` bytes of free blocks of the source, which outlives it.
  CachingAllocator(BlockSource& source, std::int64_t idle_limit) : source_(source), idle_limit_(idle_limit) {}
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator();

  /// At least `bytes` of memory, uninitialised, aligned to 64 bytes at least; a block also for zero bytes. It
  /// is to be written on `stream`. Throws DeviceError, with what was asked for, in use and cached, if the
  /// device has no more; nothing has changed then.
  void* allocate(std::int64_t bytes, const StreamPointer& stream = nullptr);

  /// Takes back what allocate(bytes, stream) gave. `others` are the streams beside it on which work that
  /// touches the memory was started.
  void free(void* data, std::int64_t bytes, const StreamPointer& stream = nullptr,
            std::span<const StreamPointer> others = {}) noexcept;

  /// Gives idle blocks back until at most `idle_limit` bytes of them are left, waiting for those in use by
  /// another stream.
  void trim(std::int64_t idle_limit = 0) noexcept;

  AllocatorStats stats() const;
  /// Starts the peak anew from what is in use.
  void reset_peak();

  /// Makes the nth request from now (1 is the next) meet a device without memory; 0 takes that back. For
  /// tests.
  void fail_request(std::int64_t nth);

 private:
  struct Idle {
    void* data;
    StreamPointer stream;
    std::unique_ptr<Mark> freed;                // on its own stream; made when another one wants the block
    std::vector<std::unique_ptr<Mark>> others;  // of the other streams that used it
  };

  static bool is_free_for(Idle& idle, const StreamPointer& stream);
  void* take_idle(std::int64_t block, const StreamPointer& stream);
  void trim_locked(std::int64_t idle_limit) noexcept;
  /// A block of just the size, where that is less than `block`, which becomes it: one that is idle for the
  /// stream, or from the source.
  void* take_exactly(std::int64_t bytes, std::int64_t& block, const StreamPointer* idle_for);
  std::string out_of_memory(std::int64_t bytes, std::int64_t cached, bool tried) const;

  BlockSource& source_;
  const std::int64_t idle_limit_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<Idle>> idle_;  // by size
  std::map<void*, std::int64_t> exact_;             // blocks in use that are smaller than their class
  AllocatorStats stats_;
  std::int64_t fails_in_ = 0;
};

/// Memory of the host.
BlockSource& host_memory();

/// The process's own allocator of it; keeps up to a quarter of the machine's memory.
CachingAllocator& host_allocator();

}  // namespace sinter::runtime
