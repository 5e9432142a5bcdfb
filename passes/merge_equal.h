// Makes one node of nodes that are equal though they do not look it. Nodes that look equal are one from the
// start.
//
// x + y and y + x are merged, for ops that are commutative to the last bit, keeping the order written first.
// Two reductions that differ in keepdims only become one, in the form that most of its readers want, and a
// reshape of it for the others; a reshape that brings a reduction into its other form counts as a reader that
// wants that form.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

ir::Graph merge_equal(const ir::Graph& graph, const PassContext& context);

}  // namespace sinter::passes
