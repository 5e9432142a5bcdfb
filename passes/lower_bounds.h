// How small values can get, whatever the inputs are.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sinter::passes {

/// By node id: a number that the value is never below, though it may be NaN; -inf where none is known. What
/// is said of x, as in x - max x of the same x, holds for the values as they are computed.
std::vector<double> lower_bounds(const ir::Graph& graph);

}  // namespace sinter::passes
