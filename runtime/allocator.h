// Host memory for tensors, kept for reuse.
//
// A block that is freed stays mapped and goes to the next request of its size class, so that a program run
// again and again neither asks the system for memory nor takes page faults. Idle blocks beyond a bound go
// back, and all of them do before a request is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace sinter::runtime {

/// Bytes that a block for a request of `bytes` has: a multiple of 64, at most a quarter more than asked for
/// (at least 64). Blocks of 2 MiB and more are aligned to that and backed by huge pages where the system has
/// them.
std::int64_t block_bytes(std::int64_t bytes);

struct AllocatorStats {
  std::int64_t in_use = 0, cached = 0;  // bytes of blocks
  std::int64_t peak = 0;                // of in_use
  std::int64_t requests = 0;
  std::int64_t system_requests = 0;  // those that no idle block could serve
};

class CachingAllocator {
 public:
  /// Keeps up to `idle_limit` bytes of free blocks.
  explicit CachingAllocator(std::int64_t idle_limit) : idle_limit_(idle_limit) {}
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator();

  /// At least `bytes` of memory, uninitialised, aligned to 64 bytes at least; a block also for zero bytes.
  /// Throws DeviceError, with what was asked for, in use and cached, if the system has no more; nothing has
  /// changed then.
  void* allocate(std::int64_t bytes);

  /// Takes back what allocate(bytes) gave.
  void free(void* data, std::int64_t bytes) noexcept;

  /// Gives idle blocks back to the system until at most `idle_limit` bytes of them are left.
  void trim(std::int64_t idle_limit = 0) noexcept;

  AllocatorStats stats() const;
  /// Starts the peak anew from what is in use.
  void reset_peak();

  /// Makes the nth request from now (1 is the next) meet a system without memory; 0 takes that back. For
  /// tests.
  void fail_request(std::int64_t nth);

 private:
  void* take_idle(std::int64_t block);
  void trim_locked(std::int64_t idle_limit) noexcept;

  const std::int64_t idle_limit_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<void*>> idle_;  // by size
  AllocatorStats stats_;
  std::int64_t fails_in_ = 0;
};

/// The process's own; keeps up to a quarter of the machine's memory.
CachingAllocator& host_allocator();

}  // namespace sinter::runtime
