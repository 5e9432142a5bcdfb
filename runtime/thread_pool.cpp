#include "runtime/thread_pool.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "ir/base/check.h"
#include "ir/base/settings.h"

namespace sinter::runtime {
namespace {

/// The arena with as many places as there are threads to use. Settings that tests read again give a new one.
tbb::task_arena& arena() {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<tbb::task_arena>>& by_width =
      *new std::vector<std::unique_ptr<tbb::task_arena>>;
  static std::atomic<tbb::task_arena*> current{nullptr};
  const int width = thread_count();
  tbb::task_arena* known = current.load(std::memory_order_acquire);
  if (known != nullptr && known->max_concurrency() == width) return *known;
  const std::lock_guard lock(mutex);
  for (const auto& candidate : by_width)
    if (candidate->max_concurrency() == width) known = candidate.get();
  if (known == nullptr || known->max_concurrency() != width) {
    by_width.push_back(std::make_unique<tbb::task_arena>(width));
    known = by_width.back().get();
  }
  current.store(known, std::memory_order_release);
  return *known;
}

constexpr std::align_val_t alignment{64};

/// Blocks of one thread that nobody uses now.
class ScratchStore {
 public:
  ~ScratchStore() {
    for (const Block& block : blocks_) ::operator delete(block.data, alignment);
  }

  /// A block of at least `bytes`, which becomes its size.
  void* take(std::size_t& bytes) {
    const auto fits = [&](const Block& block) { return block.bytes >= bytes; };
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
    if (found != blocks_.end()) {
      const Block block = *found;
      blocks_.erase(found);
      bytes = block.bytes;
      return block.data;
    }
    if (!blocks_.empty()) {  // grow one that is too small rather than keep both
      ::operator delete(blocks_.back().data, alignment);
      blocks_.pop_back();
    }
    bytes = std::max<std::size_t>(4096, bytes + bytes / 2);
    blocks_.reserve(blocks_.size() + ++out_);  // so that put() cannot fail
    return ::operator new(bytes, alignment);
  }

  void put(void* data, std::size_t bytes) { blocks_.push_back({data, bytes}); }

 private:
  struct Block {
    void* data;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
  std::size_t out_ = 0;
};

ScratchStore& scratch_store() {
  thread_local ScratchStore store;
  return store;
}

}  // namespace

int thread_count() {
  static const int cores = tbb::this_task_arena::max_concurrency();
  const std::int64_t chosen = settings().threads;
  return chosen > 0 ? static_cast<int>(std::min<std::int64_t>(chosen, 1024)) : cores;
}

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, RangeFunction f) {
  SINTER_ASSERT(grain > 0, "grain {}", grain);
  if (begin >= end) return;
  if (end - begin <= grain || thread_count() == 1) return f(begin, end);
  const std::int64_t chunks = (end - begin - 1) / grain + 1;
  const auto run = [&](const tbb::blocked_range<std::int64_t>& range) {
    f(begin + range.begin() * grain, std::min(end, begin + range.end() * grain));
  };
  // Isolated, so that a thread which waits at the end of an inner loop does not begin another part of an
  // outer one in the middle of its own.
  arena().execute([&] {
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, chunks), run); });
  });
}

Scratch::Scratch(std::size_t bytes) : data_(nullptr), bytes_(bytes) {
  if (bytes != 0) data_ = scratch_store().take(bytes_);
}

Scratch::~Scratch() {
  if (data_ != nullptr) scratch_store().put(data_, bytes_);
}

}  // namespace sinter::runtime
