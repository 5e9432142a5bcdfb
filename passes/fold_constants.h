// Computes elementwise ops whose operands are all constants, so that kernels need not.
//
// Only scalars are folded: tensors of equal elements have become broadcasts of scalars by `simplify`, and
// data is never computed at compile time. In strict mode only exact functions are folded, since the others
// need not give the bits that eager gives on its device.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

ir::Graph fold_constants(const ir::Graph& graph, const PassContext& context);

/// The constant that an elementwise op of these operands is, or an invalid value where it is none or the mode
/// forbids.
ir::Value fold(ir::Graph& graph, ir::Op op, std::span<const ir::Value> operands, const ir::Attrs& attrs,
               Numerics numerics, std::source_location where);

}  // namespace sinter::passes
