// The typed evaluator: plain loops that round to the dtype at every node. It folds constants, serves machines
// without a compiler, and is the yardstick of what eager gives; it is written apart from code generation.
//
// f32 functions are correctly rounded in all but rare cases, 16-bit floats compute in f32 and round at every
// node, sums run in a tree in f32 (f64 for f64) and round once, whole numbers wrap. docs/numerics.md has
// every rule.
#pragma once

#include <span>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"

namespace sinter::ir {

/// The outputs, in order. The graph's dims must be numbers (see ir/bind.h); inputs must have the graph's
/// dtypes and shapes, else ValueError. An intermediate array is freed once its last reader is done.
std::vector<Array> evaluate_typed(const Graph& graph, std::span<const Array> inputs);

/// One element of an elementwise op; `attrs` matters to cast only. Operands are as the graph admits them.
Scalar evaluate_scalar(Op op, std::span<const Scalar> operands, const Attrs& attrs = {});

/// Throws ValueError unless there is one array per input, of its dtype and shape, and all dims are numbers.
void check_inputs(const Graph& graph, std::span<const Array> inputs);

}  // namespace sinter::ir
