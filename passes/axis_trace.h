// Where a node's axes come from: movement ops between a node and the value that is computed or stored beneath
// them, seen as a relation of axes. The fuser asks it whether two nodes walk over the same elements in the
// same order.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sinter::passes {

struct AxisTrace {
  ir::Value
      source;  // the value beneath the movement ops; invalid for constants and iota, which have no memory
  bool simple = true;     // each axis of the source runs along one whole axis of the node, or has length 1
  std::vector<int> axis;  // per axis of the source: the node's axis, or -1 where the source's length is 1
};

/// Traces of all nodes. `is_root(v)` says which nodes are sources (inputs, computed nodes, stored copies).
std::vector<AxisTrace> trace_axes(const ir::Graph& graph, const std::vector<bool>& is_root);

}  // namespace sinter::passes
