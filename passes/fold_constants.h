// Computes elementwise ops whose operands are all constants, so that kernels need not.
//
// Only scalars are folded: tensors of equal elements have become broadcasts of scalars by `simplify`, and
// data is never computed at compile time. In strict mode only exact functions are folded, since the others
// need not give the bits that eager gives on its device.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

ir::Graph fold_constants(const ir::Graph& graph, const PassContext& context);

}  // namespace sinter::passes
