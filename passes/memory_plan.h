// Places the buffers that one run needs between its launches into one block of memory, by their lifetimes.
#pragma once

#include <cstdint>
#include <vector>

namespace sinter::passes {

/// A buffer that is written by step `first` and read last by step `last`.
struct Lifetime {
  std::int64_t bytes;
  int first, last;
};

struct MemoryPlan {
  std::vector<std::int64_t> offsets;  // one per lifetime, aligned
  std::int64_t bytes = 0;             // of the whole block
};

/// Buffers that live at the same time do not overlap. Largest first, each at the lowest place that is free
/// while it lives, which is within a few percent of the optimum on graphs of repeated blocks.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, std::int64_t alignment = 256);

}  // namespace sinter::passes
