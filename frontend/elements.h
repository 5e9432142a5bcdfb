// Elements of tensors in host memory: copies in row-major order, and single elements as scalars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/scalar.h"

namespace sinter::frontend {

/// Copies the elements of a strided tensor, each of `size` bytes, to consecutive places in row-major order.
void copy_strided(const std::byte* from, std::span<const std::int64_t> shape,
                  std::span<const std::int64_t> strides, int size, std::byte* to);

/// Number of elements; ShapeError when a length is negative, or when they would not fit an address space.
/// The message names `function`.
std::int64_t checked_elements(std::string_view function, std::span<const std::int64_t> shape, DType dtype);

/// The element at `at`.
ir::Scalar element(DType dtype, const std::byte* at);

/// Writes an element.
void set_element(std::byte* at, ir::Scalar value);

}  // namespace sinter::frontend
