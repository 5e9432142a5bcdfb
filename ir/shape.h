// The lengths of a tensor's axes, outermost first.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace sinter::ir {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  const Dim& operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  Dim& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  void push_back(Dim d) { dims_.push_back(std::move(d)); }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  const std::vector<Dim>& dims() const { return dims_; }

  /// Number of elements; 1 for rank 0.
  Dim elements() const;
  /// True when every length is a number.
  bool is_constant() const;
  /// True when the number of elements is provably zero.
  bool is_empty() const;
  /// The lengths as numbers; only for a constant shape.
  std::vector<std::int64_t> values() const;
  Shape bind(const Bindings& values) const;

  /// "[M, 4096]"
  std::string str() const;
  std::size_t hash() const;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<Dim> dims_;
};

/// The shape that both broadcast to under NumPy's rules; throws ShapeError naming `what` where there is none.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view what);

/// An axis counted from the front; negative axes count from the end. Throws ShapeError naming `what`.
int normalize_axis(std::int64_t axis, int rank, std::string_view what);

}  // namespace sinter::ir
