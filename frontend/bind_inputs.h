// Tensors as the inputs of a graph.
#pragma once

#include <span>

#include "ir/graph.h"
#include "sinter/tensor.h"

namespace sinter::frontend {

/// The values of the graph's symbols, from the shapes of these inputs. Throws ValueError, ShapeError or
/// DTypeError for inputs that are not those of the graph.
ir::Bindings bind_inputs(const ir::Graph& graph, std::span<const Tensor> inputs);

}  // namespace sinter::frontend
