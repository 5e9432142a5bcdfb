#include "ir/scalar.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/base/check.h"

namespace sinter::ir {
namespace {

/// To f32 so that a further rounding to 16 bits is as if there had been only one: an inexact value takes the
/// odd one of its two neighbours (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
float round_to_odd(long double v) {
  const auto nearest = static_cast<float>(v);
  if (std::isnan(v) || nearest == v) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const std::uint32_t toward_zero =
      std::fabs(static_cast<long double>(nearest)) > std::fabs(v) ? bits - 1 : bits;
  return std::bit_cast<float>(toward_zero | 1);
}

}  // namespace

std::uint64_t encode_float(DType t, long double v) {
  if (t == DType::f64) return std::bit_cast<std::uint64_t>(static_cast<double>(v));
  if (t == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(v));
  SINTER_ASSERT(is_16bit_float(t), "{} is not a float", name(t));
  if (t == DType::f16) return float16_t(round_to_odd(v)).bits;
  return bfloat16_t(round_to_odd(v)).bits;
}

long double decode_float(DType t, std::uint64_t bits) {
  if (t == DType::f64) return std::bit_cast<double>(bits);
  if (t == DType::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (t == DType::f16) {
    float16_t h;
    h.bits = static_cast<std::uint16_t>(bits);
    return static_cast<float>(h);
  }
  bfloat16_t h;
  h.bits = static_cast<std::uint16_t>(bits);
  return static_cast<float>(h);
}

std::int64_t wrap(DType t, std::int64_t v) {
  return visit_dtype(t, [v](auto type) -> std::int64_t {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>)
      return v & 1;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(v);
    else
      return v;
  });
}

std::int64_t saturate(DType t, long double v) {
  if (std::isnan(v)) return 0;
  return visit_dtype(t, [v](auto type) -> std::int64_t {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      if (v <= static_cast<long double>(low)) return low;
      if (v >= static_cast<long double>(high)) return high;
      return static_cast<std::int64_t>(v);
    } else {
      return v != 0;
    }
  });
}

Scalar Scalar::from_real(DType t, long double v) {
  if (is_float(t)) return {t, encode_float(t, v)};
  if (is_bool(t)) return {t, static_cast<std::uint64_t>(v != 0 || std::isnan(v))};
  return {t, static_cast<std::uint64_t>(saturate(t, v))};
}

Scalar Scalar::from_whole(DType t, std::int64_t v) {
  if (is_float(t)) return {t, encode_float(t, static_cast<long double>(v))};
  if (is_bool(t)) return {t, static_cast<std::uint64_t>(v != 0)};
  return {t, static_cast<std::uint64_t>(wrap(t, v))};
}

long double Scalar::real() const {
  return is_float(dtype) ? decode_float(dtype, bits)
                         : static_cast<long double>(static_cast<std::int64_t>(bits));
}

std::int64_t Scalar::whole() const {
  SINTER_ASSERT(!is_float(dtype), "a {} is not a whole number", name(dtype));
  return static_cast<std::int64_t>(bits);
}

Scalar Scalar::cast(DType to) const {
  return is_float(dtype) ? from_real(to, real()) : from_whole(to, whole());
}

std::string Literal::str() const {
  if (is_bool()) return std::get<bool>(value) ? "true" : "false";
  if (is_whole()) return std::to_string(std::get<std::int64_t>(value));
  return fmt::format("{}", std::get<double>(value));
}

DType meet(DType t, const Literal& literal) {
  if (is_float(t) || literal.is_bool()) return t;
  if (literal.is_real()) return DType::f32;
  return is_bool(t) ? DType::int64 : t;
}

Scalar to_scalar(const Literal& literal, DType t) {
  if (literal.is_bool()) return Scalar::from_whole(t, std::get<bool>(literal.value));
  if (literal.is_real()) {
    const double v = std::get<double>(literal.value);
    if (is_whole(t) && (v != std::trunc(v) || saturate(t, v) != v))
      fail<DTypeError>(
          "the number {} does not fit {}; convert the tensor first, or write a number in its range",
          literal.str(), name(t));
    return Scalar::from_real(t, v);
  }
  const std::int64_t v = std::get<std::int64_t>(literal.value);
  if (is_whole(t) && wrap(t, v) != v)
    fail<DTypeError>(
        "the number {} does not fit {}; convert the tensor first, or write a number in its range", v,
        name(t));
  return Scalar::from_whole(t, v);
}

DType default_dtype(const Literal& literal) {
  if (literal.is_bool()) return DType::boolean;
  return literal.is_whole() ? DType::int64 : DType::f32;
}

}  // namespace sinter::ir
