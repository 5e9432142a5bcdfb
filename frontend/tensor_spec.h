// Between the public TensorSpec and the graph's shapes.
#pragma once

#include "ir/shape.h"
#include "sinter/program.h"

namespace sinter::frontend {

/// Throws ShapeError for a negative length, ValueError for a formula that does not parse.
ir::Shape shape_of(const TensorSpec& spec);

Length length_of(const ir::Dim& dim);
TensorSpec spec_of(DType dtype, const ir::Shape& shape);

}  // namespace sinter::frontend
