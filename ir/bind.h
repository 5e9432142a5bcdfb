// Gives the symbols of a graph their values.
#pragma once

#include "ir/graph.h"

namespace sinter::ir {

/// The graph with these symbols replaced everywhere, in shapes and attributes; symbols without a value stay,
/// and so do their facts. Nodes keep their order, but those that become equal are one. Throws ValueError for
/// a symbol that the graph does not have, a negative value, or one that breaks a fact, and the builder's
/// error where a node does not admit the lengths (max over an axis that became 0).
Graph bind(const Graph& graph, const Bindings& values);

}  // namespace sinter::ir
