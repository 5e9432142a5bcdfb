#include "runtime/allocator.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

#include "ir/base/check.h"

namespace sinter::runtime {
namespace {

constexpr std::int64_t alignment = 64;
constexpr std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max() / 2;

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

std::string CachingAllocator::out_of_memory(std::int64_t bytes, std::int64_t cached, bool tried) const {
  return fmt::format("{}: out of memory: {} bytes requested, {} in use, {} cached{}{}", source_.name(), bytes,
                     stats_.in_use, cached, tried ? " (and given back in vain)" : "", source_.state());
}

void* CachingAllocator::allocate(std::int64_t bytes, const StreamPointer& stream) {
  const std::lock_guard lock(mutex_);
  const bool refused = fails_in_ > 0 && --fails_in_ == 0;
  ++stats_.requests;
  if (bytes < 0 || bytes > most_bytes || refused)
    throw DeviceError(out_of_memory(bytes, stats_.cached, false));
  std::int64_t block = block_bytes(bytes);
  void* data = take_idle(block, stream);
  if (data == nullptr) data = take_exactly(bytes, block, &stream);
  if (data == nullptr) {
    ++stats_.system_requests;
    idle_[block];  // the list that free() will put it into
    data = source_.take(block);
  }
  if (data == nullptr) {
    const std::int64_t cached = stats_.cached;
    trim_locked(0);
    data = source_.take(block);
    if (data == nullptr) data = take_exactly(bytes, block, nullptr);
    if (data == nullptr) throw DeviceError(out_of_memory(bytes, cached, true));
  }
  stats_.in_use += block;
  stats_.peak = std::max(stats_.peak, stats_.in_use);
  return data;
}

void* CachingAllocator::take_exactly(std::int64_t bytes, std::int64_t& block, const StreamPointer* idle_for) {
  constexpr std::int64_t page = 2 << 20;
  const std::int64_t exact = (bytes + page - 1) / page * page;
  if (exact >= block || (idle_for && !idle_.contains(exact))) return nullptr;
  const auto place = exact_.emplace(nullptr, exact).first;  // the note first, so that nothing fails after it
  void* const data = idle_for ? take_idle(exact, *idle_for) : source_.take(exact);
  auto note = exact_.extract(place);
  if (data == nullptr) return nullptr;
  note.key() = data;
  exact_.insert(std::move(note));
  block = exact;
  return data;
}

bool CachingAllocator::is_free_for(Idle& idle, const StreamPointer& stream) {
  std::erase_if(idle.others, [](const std::unique_ptr<Mark>& mark) { return mark->passed(); });
  if (!idle.others.empty()) return false;
  if (idle.stream == stream) return true;
  if (!idle.freed) idle.freed = idle.stream->mark();
  return idle.freed->passed();
}

void* CachingAllocator::take_idle(std::int64_t block, const StreamPointer& stream) {
  const auto found = idle_.find(block);
  if (found == idle_.end()) return nullptr;
  std::vector<Idle>& list = found->second;
  // From the last one freed, which the caches may still hold.
  for (std::size_t i = list.size(); i-- > 0;) {
    if (!is_free_for(list[i], stream)) continue;
    void* data = list[i].data;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    stats_.cached -= block;
    return data;
  }
  return nullptr;
}

void CachingAllocator::free(void* data, std::int64_t bytes, const StreamPointer& stream,
                            std::span<const StreamPointer> others) noexcept {
  std::int64_t block = block_bytes(bytes);
  const std::lock_guard lock(mutex_);
  const auto exact = exact_.find(data);
  const bool is_exact = exact != exact_.end();
  if (is_exact) {
    block = exact->second;
    exact_.erase(exact);
  }
  stats_.in_use -= block;
  Idle idle{data, stream, nullptr, {}};
  try {
    for (const StreamPointer& other : others) idle.others.push_back(other->mark());
    if (is_exact) idle_[block];
    idle_.at(block).push_back(std::move(idle));
  } catch (const std::exception&) {  // no memory for the note, or a stream that is no more
    for (const StreamPointer& other : others) try {
        other->mark()->wait();
      } catch (const std::exception&) {
      }
    return source_.give_back(data, block);
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
      Idle& idle = size->second.back();
      try {
        for (const std::unique_ptr<Mark>& mark : idle.others) mark->wait();
        if (idle.stream) idle.stream->mark()->wait();
      } catch (const std::exception&) {  // the device is lost, and nothing runs on it any more
      }
      source_.give_back(idle.data, size->first);
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

}  // namespace sinter::runtime
