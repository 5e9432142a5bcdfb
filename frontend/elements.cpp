#include "frontend/elements.h"

#include <cstring>

#include "ir/base/check.h"

namespace sinter::frontend {
namespace {

/// One axis of the copy, and the elements inside it copied by `size` bytes each.
void copy_row(const std::byte* from, std::int64_t length, std::int64_t step, std::size_t size,
              std::byte* to) {
  if (step == static_cast<std::int64_t>(size)) {
    std::memcpy(to, from, static_cast<std::size_t>(length) * size);
    return;
  }
  for (std::int64_t i = 0; i < length; ++i, from += step, to += size) std::memcpy(to, from, size);
}

}  // namespace

void copy_strided(const std::byte* from, std::span<const std::int64_t> shape,
                  std::span<const std::int64_t> strides, int size, std::byte* to) {
  for (const std::int64_t length : shape)
    if (length == 0) return;
  const auto bytes = static_cast<std::size_t>(size);
  if (shape.empty()) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t last = shape.size() - 1;
  std::vector<std::int64_t> at(last, 0);
  for (;;) {
    copy_row(from, shape[last], strides[last] * size, bytes, to);
    to += static_cast<std::size_t>(shape[last]) * bytes;
    std::size_t axis = last;
    while (axis > 0) {  // the next row: count up like the digits of a number
      --axis;
      from += strides[axis] * size;
      if (++at[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis] * size;
      at[axis] = 0;
      if (axis == 0) return;
    }
    if (last == 0) return;
  }
}

std::int64_t checked_elements(std::string_view function, std::span<const std::int64_t> shape, DType dtype) {
  std::int64_t elements = 1;
  bool overflow = false, empty = false;
  for (const std::int64_t length : shape) {
    if (length < 0)
      fail<ShapeError>("{}: [{}] is not a shape; lengths are not negative", function, fmt::join(shape, ", "));
    empty = empty || length == 0;
    overflow = __builtin_mul_overflow(elements, length, &elements) || overflow;
  }
  if (empty) return 0;
  std::int64_t bytes = 0;
  if (overflow || __builtin_mul_overflow(elements, static_cast<std::int64_t>(size_of(dtype)), &bytes))
    fail<ShapeError>("{}: a tensor of shape [{}] and dtype {} has more bytes than can be addressed", function,
                     fmt::join(shape, ", "), name(dtype));
  return elements;
}

ir::Scalar element(DType dtype, const std::byte* at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at,
              static_cast<std::size_t>(size_of(dtype)));  // the low bytes: the host is little-endian
  switch (dtype) {
    case DType::int8:
      return ir::Scalar::from_whole(dtype, static_cast<std::int8_t>(bits));
    case DType::int32:
      return ir::Scalar::from_whole(dtype, static_cast<std::int32_t>(bits));
    case DType::uint8:
    case DType::int64:
    case DType::boolean:
      return ir::Scalar::from_whole(dtype, static_cast<std::int64_t>(bits));
    case DType::f64:
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      break;
  }
  return {dtype, bits};
}

void set_element(std::byte* at, ir::Scalar value) {
  std::memcpy(at, &value.bits, static_cast<std::size_t>(size_of(value.dtype)));
}

}  // namespace sinter::frontend
