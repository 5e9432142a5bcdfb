// Running operations at once.
//
// An operation called plainly is a program of one node: the same passes, kernels and caches as compiled
// functions use, in strict numerics. Programs are kept by graph and layouts. What only looks at memory in
// another way is a view, and runs nothing; neither does what has no elements.
#pragma once

#include <span>
#include <vector>

#include "frontend/tensor_impl.h"

namespace sinter::frontend {

/// The value of `result` in a small graph whose inputs are these tensors, in memory.
Tensor run_one(ir::Graph graph, ir::Value result, std::span<const Tensor> inputs);

/// A generator's values in memory, in row-major order.
Storage compute(const Generator& generator);

/// Runs a graph node by node, each as if it were called plainly, and gives its outputs. Symbols take their
/// values from the inputs' shapes. Throws ValueError, ShapeError or DTypeError for inputs that are not those
/// of the graph.
std::vector<Tensor> run_eagerly(const ir::Graph& graph, std::span<const Tensor> inputs);

}  // namespace sinter::frontend
