// Which form of a function each f32 value is computed in, decided once on the graph, so that all copies of a
// recomputed value agree.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "sinter/numerics.h"

namespace sinter::passes {

enum class MathForm : std::uint8_t {
  portable,  // the prelude's own function, the same bits on every device
  device,    // the device's function, within the bounds of docs/numerics.md
  narrow,    // an approximation that is good enough for what is stored in 16 bits
  bounded,   // the same of a quotient whose divisor is known to be 2^-100 or more
  coarse,    // an approximation that is good enough for what is stored in bf16
};

/// What the prelude's names of the form begin with; empty for portable.
std::string_view prefix(MathForm form);

/// By node id. strict: portable everywhere. Otherwise ops with a device_form take it; those with a
/// narrow_form take that where the value ends in 16 bits and nothing on the way enlarges its relative error:
/// no difference, no sum of terms that may differ in sign, no power above the fourth. Exponentials, which
/// the narrow form flushes to 0 below 2^-126, must not be enlarged either. Where all ends in bf16, ops with a
/// coarse_form take that, as long as its error counts once. A quotient by a broadcast value,
/// which is one rounding away from the exact one, is allowed sums, as their own roundings are no smaller,
/// but no function after it that has a pole or an edge, such as log.
std::vector<MathForm> math_forms(const ir::Graph& graph, Numerics numerics);

}  // namespace sinter::passes
