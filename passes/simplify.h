// Applies the rewrite rules of passes/rules.h that the numeric mode allows, to each node after its operands.
//
// A rule's result is simplified in turn, so one run does nearly all there is to do; what a later constant
// fold lays open is left to the next run. Afterwards no rule matches, but for what stands deeper in a result
// than rules reach.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

ir::Graph simplify(const ir::Graph& graph, const PassContext& context);

}  // namespace sinter::passes
