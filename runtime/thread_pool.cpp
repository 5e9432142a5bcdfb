#include "runtime/thread_pool.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "ir/base/check.h"
#include "ir/base/settings.h"

namespace sinter::runtime {
namespace {

/// An arena of so many threads, which exist even if there are fewer cores.
struct Arena {
  explicit Arena(int width) : width(width), tasks(width) {
    using Control = tbb::global_control;
    if (width > static_cast<int>(Control::active_value(Control::max_allowed_parallelism)))
      more.emplace(Control::max_allowed_parallelism, static_cast<std::size_t>(width));
  }
  int width;
  std::optional<tbb::global_control> more;
  tbb::task_arena tasks;
};

/// The arena for the settings in force. Those of other widths are kept, as loops may be running in them.
tbb::task_arena& arena() {
  static std::mutex mutex;
  static auto& all = *new std::vector<std::unique_ptr<Arena>>;  // never destroyed, like TBB's own threads
  static std::atomic<Arena*> current{nullptr};
  const int width = thread_count();
  if (Arena* known = current.load(std::memory_order_acquire); known != nullptr && known->width == width)
    return known->tasks;
  const std::lock_guard lock(mutex);
  auto found = std::find_if(all.begin(), all.end(), [&](const auto& known) { return known->width == width; });
  if (found == all.end()) found = all.insert(all.end(), std::make_unique<Arena>(width));
  current.store(found->get(), std::memory_order_release);
  return (*found)->tasks;
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
    auto found = blocks_.end();  // the smallest that is large enough
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
      if (block->bytes >= bytes && (found == blocks_.end() || block->bytes < found->bytes)) found = block;
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
