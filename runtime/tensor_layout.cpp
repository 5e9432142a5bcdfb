#include "runtime/tensor_layout.h"

#include <algorithm>

namespace sinter::runtime {
namespace {

std::size_t hash_of(DType dtype, const ir::Shape& shape, std::span<const std::int64_t> strides) {
  std::size_t h = shape.hash() + static_cast<std::size_t>(dtype);
  for (const std::int64_t stride : strides) h = h * 0x9e3779b97f4a7c15u + static_cast<std::size_t>(stride);
  return h;
}

}  // namespace

TensorLayout::TensorLayout(Token, DType dtype, ir::Shape shape, std::vector<std::int64_t> strides)
    : dtype_(dtype),
      shape_(std::move(shape)),
      strides_(std::move(strides)),
      hash_(hash_of(dtype_, shape_, strides_)) {}

std::shared_ptr<const TensorLayout> TensorLayout::make(DType dtype, ir::Shape shape,
                                                       std::vector<std::int64_t> strides) {
  if (shape.is_empty()) return make(dtype, std::move(shape));
  // Strides of axes of length 1 address nothing: they get what row-major order would give, from the last axis
  // on.
  std::int64_t inner = 1;
  for (int axis = shape.rank(); axis-- > 0;) {
    std::int64_t& stride = strides[static_cast<std::size_t>(axis)];
    if (shape[axis].is(1)) stride = inner;
    inner = stride * shape[axis].value();
  }
  return std::make_shared<const TensorLayout>(Token(), dtype, std::move(shape), std::move(strides));
}

std::shared_ptr<const TensorLayout> TensorLayout::make(DType dtype, ir::Shape shape) {
  std::vector<std::int64_t> strides;
  if (shape.is_constant()) strides = row_major(shape.values());
  return std::make_shared<const TensorLayout>(Token(), dtype, std::move(shape), std::move(strides));
}

std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0; step *= std::max<std::int64_t>(shape[i], 1)) strides[i] = step;
  return strides;
}

}  // namespace sinter::runtime
