// What the evaluators know of the scatter family: which slices of the source each slice of the result is the
// sum of, and in which order it adds them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"

namespace sinter::ir {

/// Terms of one sum are added in their order, in levels: so many terms make a run, so many runs a stretch, so
/// many stretches a longer one, and those are added up. All backends keep to it, so a sum has the same bits
/// everywhere, and its error does not grow with the number of its terms.
constexpr int segment_run = 4, segment_level = 64;

/// Source and result as three axes each: those before the one that is scattered along, it, those after.
struct ScatterPlan {
  std::int64_t outer = 1, slices = 1, inner = 1, rows = 1;
  std::vector<std::int64_t> first, end;  // per row of the result: where its slices are in `order`
  std::vector<std::int64_t> order;       // numbers of slices
};

/// `element` gives element i of operand k, an index, a place in an order or a start.
ScatterPlan plan_scatter(const Graph& graph, Value node,
                         const std::function<std::int64_t(std::size_t operand, std::int64_t i)>& element);

/// The sums, each computed as docs/numerics.md says of its dtype.
void evaluate_scatter(const Array& source, const ScatterPlan& plan, Array& result);

/// The value of a search at the numbers that an element of its result has.
std::int64_t search_at(Op op, const std::function<std::int64_t(std::int64_t)>& element, std::int64_t length,
                       const std::vector<std::int64_t>& numbers);

}  // namespace sinter::ir
