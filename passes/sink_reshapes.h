// Reshapes after rows, moved behind the elementwise operations that follow them.
//
// A kernel walks over one domain. What folds rows has theirs, and a formula that goes on with its results in
// another shape of the same elements, such as a group norm whose weights belong to the channels of the shape
// that it started from, would walk over another: w * reshape(rows) becomes reshape(reshape(w) * rows), so
// that one kernel has all of it. The other operands must be such that the shape of the rows can be had of
// them: axes that are divided or joined with others are all repeated in them, or none is. What another kernel
// computes in the new shape is not drawn over, nor what belongs to a second formula that folds rows there:
// what is folded later, and what is computed with the result.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

ir::Graph sink_reshapes(const ir::Graph& graph, const PassContext& context);

}  // namespace sinter::passes
