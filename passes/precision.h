// Decides where 16-bit values round, once and on the graph, so that every copy of a recomputed value agrees.
//
// Afterwards nothing computes in f16 or bf16: elementwise ops and reductions work in f32, with casts where
// values are widened and where they round. 16-bit values remain as inputs, outputs, operands and results of
// matrix products and gathers, and as what movement ops move. f64, f32 and whole numbers are as they were.
//
// strict: every operation rounds, as eager does: add(a, b) becomes cast(add(cast(a, f32), cast(b, f32)),
// bf16).
//
// standard and fast: a chain of operations stays in f32. A value of it is rounded where it
//   - is stored: an output of the graph, an operand of a matrix product or gather;
//   - is read on the far side of a matrix product or gather, and so comes back from memory;
//   - is the operand of a cast that the user wrote, or of a discrete op (a comparison, floor, isinf, argmax,
//   ...).
// Every cast in the pass's input is one that the user wrote. Running the pass again changes nothing.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

ir::Graph decide_precision(const ir::Graph& graph, const PassContext& context);

/// Whether nothing live computes in 16 bits.
bool precision_is_decided(const ir::Graph& graph);

}  // namespace sinter::passes
