// What is known of values that are shifted by the maximum of their row: x - max x is never positive, and the
// sum of all e^(x - max x) is 1, exactly, plus what is not negative.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sinter::passes {

/// Whether a value is the maximum of x over the axes that `sum` folds, at every element of x.
bool is_shift(const ir::Graph& graph, ir::Value shift, ir::Value x, const ir::Attrs& sum);

/// By node id: the value is x - max x over some axes, of all x or of those that a gather along them picks. It
/// is zero or less (or NaN), whatever the inputs are.
std::vector<bool> below_maximum(const ir::Graph& graph);

/// Whether a value is the logarithm of a sum of e^(x - max x). It is never negative, and its relative error
/// is no greater than that of the terms: log(1 + d (1 + e)) - log(1 + d) <= d e / (1 + d) <= e log(1 + d).
bool is_log_of_shifted_sum(const ir::Graph& graph, ir::Value value);

}  // namespace sinter::passes
