#include "ir/scatter.h"

#include <algorithm>
#include <array>

#include "ir/strided.h"
#include "ir/typed_blocks.h"

namespace sinter::ir {
namespace {

/// Slices by the rows that their indices name, each row's in the order of the source.
void place_by_index(ScatterPlan& plan, const std::function<std::int64_t(std::int64_t)>& index) {
  std::vector<std::int64_t> row(static_cast<std::size_t>(plan.slices), -1);
  for (std::int64_t i = 0; i < plan.slices; ++i) {
    std::int64_t at = index(i);
    if (at < 0) at += plan.rows;
    if (at < 0 || at >= plan.rows) continue;  // dropped
    row[static_cast<std::size_t>(i)] = at;
    ++plan.end[static_cast<std::size_t>(at)];
  }
  std::int64_t total = 0;
  for (std::size_t r = 0; r < plan.end.size(); ++r) {
    plan.first[r] = total;
    total += plan.end[r];
    plan.end[r] = plan.first[r];
  }
  plan.order.resize(static_cast<std::size_t>(total));
  for (std::int64_t i = 0; i < plan.slices; ++i)
    if (const std::int64_t at = row[static_cast<std::size_t>(i)]; at >= 0)
      plan.order[static_cast<std::size_t>(plan.end[static_cast<std::size_t>(at)]++)] = i;
}

/// Running sums of a slice's elements, by levels.
template <class C>
class LevelSums {
 public:
  explicit LevelSums(std::size_t lanes) {
    for (std::vector<C>& level : levels_) level.resize(lanes);
  }

  template <class Term>
  void add(Term term) {
    std::vector<C>& run = levels_[0];
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = run[i] + static_cast<C>(term(i));
    if (++terms_ == segment_run) end_run();
  }

  /// The sums; what is left at each level joins the highest, the lowest first.
  const std::vector<C>& finish() {
    if (terms_ != 0) end_run();
    for (std::size_t level = 1; level + 1 < levels_.size(); ++level) carry(level, levels_.size() - 1);
    return levels_.back();
  }

 private:
  void end_run() {
    terms_ = 0;
    ++runs_;
    carry(0, 1);
    std::int64_t most = segment_level;
    for (std::size_t level = 1; level + 1 < levels_.size() && runs_ % most == 0; ++level) {
      carry(level, level + 1);
      most *= segment_level;
    }
  }

  void carry(std::size_t from, std::size_t to) {
    for (std::size_t i = 0; i < levels_[from].size(); ++i) levels_[to][i] = levels_[to][i] + levels_[from][i];
    std::ranges::fill(levels_[from], C{});
  }

  std::array<std::vector<C>, 4> levels_;
  int terms_ = 0;  // of the run
  std::int64_t runs_ = 0;
};

}  // namespace

ScatterPlan plan_scatter(const Graph& g, Value node,
                         const std::function<std::int64_t(std::size_t, std::int64_t)>& element) {
  const std::span<const Value> operands = g.operands(node);
  const std::vector<std::int64_t> source = g.shape(operands[0]).values();
  const bool by_index = scatter_form(g.op(node)) == ScatterForm::by_index;
  const auto axis = static_cast<std::size_t>(g.attrs(node).axes[0]);
  const std::size_t own = by_index ? static_cast<std::size_t>(g.shape(operands[1]).rank()) : 1;
  ScatterPlan plan;
  plan.outer = element_count(std::span(source).first(axis));
  plan.slices = element_count(std::span(source).subspan(axis, own));
  plan.inner = element_count(std::span(source).subspan(axis + own));
  plan.rows = g.shape(node)[static_cast<int>(axis)].value();
  plan.first.assign(static_cast<std::size_t>(plan.rows), 0);
  plan.end = plan.first;
  if (by_index) {
    place_by_index(plan, [&](std::int64_t i) { return element(1, i); });
    return plan;
  }
  const std::int64_t length = g.shape(operands[1])[0].value();
  for (std::int64_t r = 0; r < plan.rows; ++r) {
    const std::int64_t first = std::clamp<std::int64_t>(element(2, r), 0, length);
    plan.first[static_cast<std::size_t>(r)] = first;
    plan.end[static_cast<std::size_t>(r)] = std::clamp(element(2, r + 1), first, length);
  }
  for (std::int64_t i = 0; i < length; ++i)
    plan.order.push_back(std::clamp<std::int64_t>(element(1, i), 0, plan.slices - 1));
  return plan;
}

void evaluate_scatter(const Array& source, const ScatterPlan& plan, Array& result) {
  visit_dtype(source.dtype, [&](auto type) {
    using T = decltype(type);
    visit_compute(source.dtype, [&](auto compute) {
      // Whole numbers wrap, which unsigned arithmetic of 64 bits does for every width.
      using C = std::conditional_t<std::is_integral_v<decltype(compute)>, std::uint64_t, decltype(compute)>;
      if constexpr (!std::is_same_v<T, bool>) {
        const T* in = reinterpret_cast<const T*>(source.data.data());
        T* out = reinterpret_cast<T*>(result.data.data());
        const auto inner = static_cast<std::size_t>(plan.inner);
        for (std::int64_t o = 0; o < plan.outer; ++o)
          for (std::size_t r = 0; r < plan.first.size(); ++r) {
            LevelSums<C> sums(inner);
            for (std::int64_t k = plan.first[r]; k < plan.end[r]; ++k) {
              const T* slice = in + (o * plan.slices + plan.order[static_cast<std::size_t>(k)]) * plan.inner;
              sums.add([&](std::size_t i) { return widen<C>(slice[i]); });
            }
            for (const C sum : sums.finish()) *out++ = narrow<T>(sum);
          }
      }
    });
  });
}

std::int64_t search_at(Op op, const std::function<std::int64_t(std::int64_t)>& element, std::int64_t n,
                       const std::vector<std::int64_t>& numbers) {
  if (op == Op::count_below) {
    std::int64_t low = 0, high = n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (element(middle) < numbers[0])
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  const std::int64_t place = numbers[0];
  if (place < 0 || place >= n) return 0;
  const std::int64_t run = std::clamp<std::int64_t>(numbers[1], 1, n), begin = place - place % (2 * run);
  std::vector<std::int64_t> both;
  for (std::int64_t i = begin; i < std::min(begin + 2 * run, n); ++i) both.push_back(element(i));
  std::inplace_merge(both.begin(),
                     both.begin() + std::min<std::int64_t>(run, static_cast<std::int64_t>(both.size())),
                     both.end());
  return both[static_cast<std::size_t>(place - begin)];
}

}  // namespace sinter::ir
