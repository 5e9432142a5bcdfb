// A tensor in host memory, contiguous in row-major order: what the evaluators, .npy files and tests exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/scalar.h"
#include "sinter/dtype.h"

namespace sinter::ir {

struct Array {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;  // elements() * size_of(dtype) bytes

  Array() = default;
  /// All elements zero.
  Array(DType dtype, std::vector<std::int64_t> shape);
  std::int64_t elements() const;
  Scalar at(std::int64_t index) const;
  void set(std::int64_t index, Scalar value);
};

}  // namespace sinter::ir
