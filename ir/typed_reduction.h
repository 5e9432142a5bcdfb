// Reductions and matrix products of the typed evaluator.
#pragma once

#include "ir/array.h"
#include "ir/graph.h"

namespace sinter::ir {

/// `x` folded over the axes of `node` by the table's combining op, in a tree whose shape depends on the
/// extents only.
void evaluate_reduction(const Graph& graph, Value node, const Array& x, Array& result);

/// Products of f32 and 16-bit floats accumulate in f64 and round once; f64 in long double; whole numbers
/// wrap.
void evaluate_matmul(const Array& a, const Array& b, Array& result);

}  // namespace sinter::ir
