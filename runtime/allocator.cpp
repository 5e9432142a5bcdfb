#include "runtime/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <new>

#include "ir/base/check.h"

namespace sinter::runtime {
namespace {

constexpr std::int64_t alignment = 64;
constexpr std::int64_t huge_page = 2 << 20;
constexpr std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max() / 2;

/// Maps `block` bytes aligned to a huge page, by mapping more and cutting off both ends.
void* map_huge(std::int64_t block) {
  const auto size = static_cast<std::size_t>(block), slack = static_cast<std::size_t>(huge_page);
  void* mapped =
      mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = (begin + slack - 1) / slack * slack;
  if (aligned > begin) munmap(mapped, aligned - begin);
  if (begin + slack > aligned) munmap(reinterpret_cast<void*>(aligned + size), begin + slack - aligned);
  madvise(reinterpret_cast<void*>(aligned), size, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

void* system_allocate(std::int64_t block) {
  if (block >= huge_page) return map_huge(block);
  return std::aligned_alloc(alignment, static_cast<std::size_t>(block));
}

void system_free(void* data, std::int64_t block) {
  if (block >= huge_page)
    munmap(data, static_cast<std::size_t>(block));
  else
    std::free(data);
}

}  // namespace

std::int64_t block_bytes(std::int64_t bytes) {
  if (bytes <= 4 * alignment) return std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  // Four classes for each power of two.
  const auto power = std::int64_t{1} << (std::bit_width(static_cast<std::uint64_t>(bytes - 1)) - 1);
  const std::int64_t step = power / 4;
  return (bytes + step - 1) / step * step;
}

CachingAllocator::~CachingAllocator() {
  trim();
}

void* CachingAllocator::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const bool refused = fails_in_ > 0 && --fails_in_ == 0;
  ++stats_.requests;
  if (bytes < 0 || bytes > most_bytes || refused)
    fail<DeviceError>("cpu: out of memory: {} bytes requested, {} in use, {} cached", bytes, stats_.in_use,
                      stats_.cached);
  const std::int64_t block = block_bytes(bytes);
  void* data = take_idle(block);
  if (data == nullptr) {
    ++stats_.system_requests;
    idle_[block];  // the list that free() will put it into
    data = system_allocate(block);
  }
  if (data == nullptr) {
    const std::int64_t cached = stats_.cached;
    trim_locked(0);
    data = system_allocate(block);
    if (data == nullptr)
      fail<DeviceError>(
          "cpu: out of memory: {} bytes requested, {} in use, {} cached (and given back in vain)", bytes,
          stats_.in_use, cached);
  }
  stats_.in_use += block;
  stats_.peak = std::max(stats_.peak, stats_.in_use);
  return data;
}

void* CachingAllocator::take_idle(std::int64_t block) {
  const auto found = idle_.find(block);
  if (found == idle_.end() || found->second.empty()) return nullptr;
  void* data = found->second.back();  // the last one freed, which the caches may still hold
  found->second.pop_back();
  stats_.cached -= block;
  return data;
}

void CachingAllocator::free(void* data, std::int64_t bytes) noexcept {
  const std::int64_t block = block_bytes(bytes);
  const std::lock_guard lock(mutex_);
  stats_.in_use -= block;
  try {
    idle_.at(block).push_back(data);
  } catch (const std::bad_alloc&) {
    return system_free(data, block);
  }
  stats_.cached += block;
  if (stats_.cached > idle_limit_) trim_locked(idle_limit_);
}

void CachingAllocator::trim(std::int64_t idle_limit) noexcept {
  const std::lock_guard lock(mutex_);
  trim_locked(idle_limit);
}

void CachingAllocator::trim_locked(std::int64_t idle_limit) noexcept {
  // The largest first: they are what the bound is about, and there are few of them.
  for (auto size = idle_.rbegin(); size != idle_.rend() && stats_.cached > idle_limit; ++size)
    while (!size->second.empty() && stats_.cached > idle_limit) {
      system_free(size->second.back(), size->first);
      size->second.pop_back();
      stats_.cached -= size->first;
    }
}

AllocatorStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak = stats_.in_use;
}

void CachingAllocator::fail_request(std::int64_t nth) {
  const std::lock_guard lock(mutex_);
  fails_in_ = nth;
}

CachingAllocator& host_allocator() {
  static CachingAllocator& allocator = []() -> CachingAllocator& {
    const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    return *new CachingAllocator(memory / 4);  // never destroyed: tensors may live as long as the process
  }();
  return allocator;
}

}  // namespace sinter::runtime
