// What SINTER_CHECK adds to a program: it finds indices that are out of range.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace sinter::passes {

/// One gather or scatter whose indices are looked at.
struct IndexCheck {
  std::string operation;            // and its operands, for messages
  std::int64_t axis, length;        // that it indexes
  std::vector<std::int64_t> shape;  // of its indices
  std::source_location where;       // line 0: not known
};

/// A graph with two outputs more for each check, in their order after its own: the row-major position of the
/// first index out of range, 0 where there is none, and the index that stands there; both int64 scalars.
struct CheckedGraph {
  ir::Graph graph;
  std::vector<IndexCheck> checks;
};

/// `graph`, whose lengths must be numbers, with a check of every gather and scatter that it needs.
CheckedGraph check_indices(const ir::Graph& graph);

/// Throws ValueError, naming the graph, the operation, the position and the index, if the index is out of
/// range.
void check_index(const ir::Graph& graph, const IndexCheck& check, std::int64_t position, std::int64_t index);

}  // namespace sinter::passes
