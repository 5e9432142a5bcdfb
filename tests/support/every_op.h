// Graphs that hold every operation of a kind for one dtype, so that tests compile them together.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace sinter::testing {

/// Every elementwise operation that admits the dtype, and a cast to every other one, of x, y and z of this
/// length. An output is named after its operation, or "to_f32".
ir::Graph every_elementwise_op(DType dtype, std::int64_t length);

/// Every reduction of x[rows, cols] over one axis.
ir::Graph every_reduction(DType dtype, std::int64_t rows, std::int64_t cols, int axis);

}  // namespace sinter::testing
