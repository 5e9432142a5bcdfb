// Movement ops as strided views of memory: which nodes are just another way to look at a stored value.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace sinter::ir {

/// `value`'s element (i0, i1, ...) lies at offset + sum of i_k * strides[k] elements in the memory of `base`.
struct View {
  Value base;
  Dim offset;
  std::vector<Dim> strides;
};

/// Strides of a contiguous tensor in row-major order.
std::vector<Dim> contiguous_strides(const Shape& shape);

/// Strides under which a strided tensor can be seen in another shape of as many elements without a copy, if
/// any.
std::optional<std::vector<Dim>> reshape_strides(const Shape& from, const std::vector<Dim>& strides,
                                                const Shape& to);

/// The movement op `node` applied to a view of its operand; nothing where no strides express it (pad, concat,
/// some reshapes).
std::optional<View> move_view(const Graph& graph, Value node, const View& operand);

/// The views of all nodes of a graph. `stored(v)` gives the strides of a value that has memory of its own, or
/// nothing; where a movement op stands on such a value, or on a view, the node gets a view; all others get
/// none.
std::vector<std::optional<View>> views_of(
    const Graph& graph, const std::function<std::optional<std::vector<Dim>>(Value)>& stored);

}  // namespace sinter::ir
