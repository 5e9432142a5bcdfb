// Operands of matrix products that the library cannot read where they are.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

/// Where the library takes dense rows or columns only: inputs that lie otherwise get a node for their copy,
/// which permutes no axes and is stored by a kernel of its own, as memory_views has it.
ir::Graph copy_operands(const ir::Graph& graph, const PassContext& context);

/// Whether rows or columns of each matrix are dense, one after the other without overlap, and the batch axes
/// go forward. What cannot be told of lengths without a value counts as not dense.
bool is_dense_matrix(const ir::Shape& shape, const std::vector<ir::Dim>& strides);

}  // namespace sinter::passes
