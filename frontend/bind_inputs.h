// Tensors as the inputs of a graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "sinter/tensor.h"

namespace sinter::frontend {

/// The values of symbols for which the wanted shapes are those given, one for each, as far as these say it.
/// Lengths and ranks that contradict each other are left for whoever takes the tensors to refuse.
ir::Bindings solve_lengths(std::span<const ir::Shape> wanted,
                           std::span<const std::vector<std::int64_t>> given);

/// The values of the graph's symbols, from the shapes of these inputs. Throws ValueError, ShapeError or
/// DTypeError for inputs that are not those of the graph.
ir::Bindings bind_inputs(const ir::Graph& graph, std::span<const Tensor> inputs);

}  // namespace sinter::frontend
