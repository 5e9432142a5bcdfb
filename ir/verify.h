// The verifier: every invariant of a graph, checked again from scratch. The pass driver calls it between
// passes in debug builds, and tests call it wherever a graph is made.
#pragma once

#include "ir/graph.h"

namespace sinter::ir {

/// Throws InternalError naming the node unless: operands precede their node and are the ones its op admits;
/// dtype and shape are what ir/infer.h gives; attributes that the op does not use are empty; no two nodes but
/// inputs are equal; inputs() lists the input nodes in order; outputs are nodes.
void verify(const Graph& graph);

/// `attrs` with only those fields kept that the op uses: what Graph::add is to be given.
Attrs canonical(Op op, const Attrs& attrs);

}  // namespace sinter::ir
