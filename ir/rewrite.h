// How passes change a graph: they rebuild it, node by node, into a new one.
//
// Nodes are immutable, so a pass visits the live nodes of the old graph in their order, which is topological,
// and says for each which value of the new graph takes its place. Afterwards the new graph has the old one's
// name, facts, inputs (all of them, in order, also those without a use), output names and source locations.
// Nodes that no output needs have not been copied, and equal nodes have become one, because Graph::add finds
// equal nodes. Nothing here recurses, so a chain of a million nodes is as fine as a short one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace sinter::ir {

/// What a visitor sees: both graphs, and which new value stands for an old one that has been visited.
class Rewriter {
 public:
  Rewriter(const Graph& from, Graph& to) : from(from), to(to), map_(from.size()) {}

  const Graph& from;
  Graph& to;

  Value operator[](Value old) const { return map_[old.id]; }
  /// The new values of an old node's operands; the span is good until the next call.
  std::span<const Value> operands(Value old);
  /// The old node's op and attributes on the new operands.
  Value copy(Value old);

 private:
  friend Graph rewrite(const Graph& from, const std::function<Value(Rewriter&, Value)>& visit);
  std::vector<Value> map_;
  std::vector<Value> scratch_;
};

/// Called for every live node but the inputs, in order; returns the new value, of the same dtype and shape.
using Visitor = std::function<Value(Rewriter&, Value)>;

Graph rewrite(const Graph& from, const Visitor& visit);

/// The same graph without the nodes that no output needs. Inputs stay.
Graph without_dead_nodes(const Graph& graph);

/// By node id: how often live nodes and outputs use it, an operand taken twice counting twice.
std::vector<std::uint32_t> count_uses(const Graph& graph);

/// Whether both have the same nodes in the same order and the same outputs; names of the graphs and source
/// locations do not matter.
bool equal(const Graph& a, const Graph& b);

}  // namespace sinter::ir
