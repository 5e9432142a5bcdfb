// One element of a dtype by its bits, and the conversions between dtypes as docs/numerics.md defines them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "sinter/dtype.h"

namespace sinter::ir {

/// `value` rounded once to nearest even in a float dtype, as bits.
std::uint64_t encode_float(DType t, long double value);
/// The value of a float dtype's bits.
long double decode_float(DType t, std::uint64_t bits);
/// `value` wrapped into a whole-number dtype or bool (bool keeps the lowest bit).
std::int64_t wrap(DType t, std::int64_t value);
/// A float to a whole number: toward zero, NaN gives 0, out of range saturates.
std::int64_t saturate(DType t, long double value);

struct Scalar {
  DType dtype = DType::f32;
  std::uint64_t bits = 0;

  /// A float dtype: rounded; a whole dtype: saturated toward zero; bool: not equal to zero.
  static Scalar from_real(DType t, long double value);
  /// A whole dtype: wrapped; a float dtype: rounded; bool: not equal to zero.
  static Scalar from_whole(DType t, std::int64_t value);

  long double real() const;     // any dtype
  std::int64_t whole() const;   // whole dtypes and bool
  Scalar cast(DType to) const;  // the meaning of the op `cast`
  friend bool operator==(const Scalar&, const Scalar&) = default;
};

/// A number as the user wrote it, without a dtype; it takes its dtype from the tensor it meets.
struct Literal {
  std::variant<bool, std::int64_t, double> value;
  bool is_bool() const { return std::holds_alternative<bool>(value); }
  bool is_whole() const { return std::holds_alternative<std::int64_t>(value); }
  bool is_real() const { return std::holds_alternative<double>(value); }
  std::string str() const;
};

/// The dtype in which a tensor of dtype `t` meets a literal: a float keeps its dtype; whole numbers with a
/// real literal give f32; bool with a whole literal int64.
DType meet(DType t, const Literal& literal);
/// The literal in dtype `t`; throws DTypeError when a whole-number dtype cannot hold it.
Scalar to_scalar(const Literal& literal, DType t);
/// The dtype a literal has with no tensor about: bool, int64, f32.
DType default_dtype(const Literal& literal);

}  // namespace sinter::ir
