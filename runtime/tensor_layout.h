// What tensors that lie alike share, so that making one copies no lengths and comparing two seldom does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ir/shape.h"
#include "sinter/dtype.h"

namespace sinter::runtime {

/// Dtype, lengths and strides of a tensor. Strides count elements and may be 0 or negative; they are those of
/// row-major order wherever an axis has length 1 or nothing is stored, so that equal layouts have equal
/// strides.
class TensorLayout : public std::enable_shared_from_this<TensorLayout> {
 public:
  static std::shared_ptr<const TensorLayout> make(DType dtype, ir::Shape shape,
                                                  std::vector<std::int64_t> strides);
  /// In row-major order; without strides where a length is a symbol.
  static std::shared_ptr<const TensorLayout> make(DType dtype, ir::Shape shape);

  DType dtype() const { return dtype_; }
  const ir::Shape& shape() const { return shape_; }
  const std::vector<std::int64_t>& strides() const { return strides_; }
  std::size_t hash() const { return hash_; }
  friend bool operator==(const TensorLayout& a, const TensorLayout& b) {
    return &a == &b ||
           (a.hash_ == b.hash_ && a.dtype_ == b.dtype_ && a.strides_ == b.strides_ && a.shape_ == b.shape_);
  }

  /// Only make() has the token.
  class Token {
    friend TensorLayout;
    Token() = default;
  };
  TensorLayout(Token, DType dtype, ir::Shape shape, std::vector<std::int64_t> strides);

 private:
  const DType dtype_;
  const ir::Shape shape_;
  const std::vector<std::int64_t> strides_;
  const std::size_t hash_;
};

/// Strides of row-major order.
std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape);

}  // namespace sinter::runtime
