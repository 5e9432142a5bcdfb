// Running operations at once.
//
// An operation called plainly is a program of one node: the same passes, kernels and caches as compiled
// functions use, in strict numerics. Programs are kept by graph and layouts. What only looks at memory in
// another way is a view, and runs nothing; neither does what has no elements.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/tensor_impl.h"

namespace sinter::frontend {

/// The value of `result` in a small graph whose inputs are these tensors, in memory, all of them numbers or
/// on the device. If a program computed it, that is kept under `key`, if there is one, for run_kept.
Tensor run_one(ir::Graph graph, ir::Value result, std::span<const Tensor> inputs, runtime::Device& device,
               const std::string& key = {});

/// The same by the program that was kept under the key, on inputs of the same kinds; nothing if none was.
std::optional<Tensor> run_kept(const std::string& key, std::span<const Tensor> inputs);

/// A generator's values in the device's memory, in row-major order.
Storage compute(const Generator& generator, runtime::Device& device);

/// Runs a graph node by node, each as if it were called plainly, and gives its outputs. Symbols take their
/// values from the inputs' shapes. Throws ValueError, ShapeError or DTypeError for inputs that are not those
/// of the graph.
std::vector<Tensor> run_eagerly(const ir::Graph& graph, std::span<const Tensor> inputs);

}  // namespace sinter::frontend
