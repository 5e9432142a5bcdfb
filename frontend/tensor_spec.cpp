#include "frontend/tensor_spec.h"

#include "ir/base/check.h"

namespace sinter::frontend {

ir::Shape shape_of(const TensorSpec& spec) {
  std::vector<ir::Dim> dims;
  for (const Length& length : spec.shape) {
    const auto* number = std::get_if<std::int64_t>(&length.value());
    if (number && *number < 0)
      fail<ShapeError>("TensorSpec: a length is {}; lengths are not negative", *number);
    dims.push_back(number ? ir::Dim(*number) : ir::parse_dim(std::get<std::string>(length.value())));
  }
  return ir::Shape(std::move(dims));
}

Length length_of(const ir::Dim& dim) {
  return dim.is_constant() ? Length(dim.value()) : Length(dim.str());
}

TensorSpec spec_of(DType dtype, const ir::Shape& shape) {
  TensorSpec spec{dtype};
  for (const ir::Dim& dim : shape) spec.shape.push_back(length_of(dim));
  return spec;
}

}  // namespace sinter::frontend
