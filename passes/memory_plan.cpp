#include "passes/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace sinter::passes {
namespace {

struct Placed {
  std::int64_t begin, end;
};

/// The lowest aligned place of `bytes` between blocks that are sorted by their begin.
std::int64_t lowest_gap(const std::vector<Placed>& blocks, std::int64_t bytes) {
  std::int64_t at = 0;
  for (const Placed& b : blocks) {
    if (b.begin - at >= bytes) break;
    at = std::max(at, b.end);
  }
  return at;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, std::int64_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return lifetimes[i].bytes; });
  int steps = 0;
  for (const Lifetime& l : lifetimes) steps = std::max(steps, l.last + 1);
  // Buffers already placed, by the steps at which they live: a search looks only at those it meets.
  std::vector<std::vector<std::size_t>> alive(static_cast<std::size_t>(steps));
  for (std::size_t i : order) {
    const Lifetime& l = lifetimes[i];
    std::vector<Placed> met;
    std::vector<std::size_t> seen;
    for (int step = l.first; step <= l.last; ++step)
      for (std::size_t other : alive[static_cast<std::size_t>(step)]) seen.push_back(other);
    std::ranges::sort(seen);
    seen.erase(std::ranges::unique(seen).begin(), seen.end());
    for (std::size_t other : seen) {
      const std::int64_t size = (lifetimes[other].bytes + alignment - 1) / alignment * alignment;
      met.push_back({plan.offsets[other], plan.offsets[other] + size});
    }
    std::ranges::sort(met, {}, &Placed::begin);
    plan.offsets[i] = lowest_gap(met, (l.bytes + alignment - 1) / alignment * alignment);
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + l.bytes);
    for (int step = l.first; step <= l.last; ++step) alive[static_cast<std::size_t>(step)].push_back(i);
  }
  return plan;
}

}  // namespace sinter::passes
