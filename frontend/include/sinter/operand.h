// What a function over tensors takes: a tensor, a Var, or a plain number.
//
// A number has no dtype of its own: it takes that of the tensors it meets, so that `bf16_tensor * 2.0` stays
// bf16. The conversions also note the line they are written on; errors print it, and captured programs keep
// it.
#pragma once

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <variant>

#include "sinter/tensor.h"

namespace sinter {

class Var;

class Operand {
 public:
  using Where = std::source_location;
  using Number = std::variant<bool, std::int64_t, double>;

  Operand(const Tensor& tensor, Where where = Where::current()) : value_(tensor), where_(where) {}
  Operand(const Var& var, Where where = Where::current());
  template <class N>
  requires std::is_arithmetic_v<N> Operand(N number, Where where = Where::current())
      : value_(as_number(number, where)), where_(where) {}

  const std::variant<Tensor, Number>& value() const { return value_; }
  const Where& where() const { return where_; }
  /// The dtype of the tensor, or the one the number has with no tensor about: bool, int64, f32.
  DType dtype() const;
  /// Axes of the tensor; 0 for a number.
  int rank() const;

 private:
  template <class N>
  static Number as_number(N number, const Where& where) {
    if constexpr (std::is_same_v<N, bool>)
      return number;
    else if constexpr (std::is_floating_point_v<N>)
      return static_cast<double>(number);
    else
      return whole(static_cast<std::int64_t>(number), number > N{0}, where);
  }
  /// `value`, which must be positive if `positive` says so: else the number does not fit 64 bits with sign.
  static Number whole(std::int64_t value, bool positive, const Where& where);

  std::variant<Tensor, Number> value_;
  Where where_;
};

}  // namespace sinter
