// Meanings of the operations that <cmath> has no function for; used by the op table's reference columns only.
#pragma once

#include <cmath>
#include <cstdint>

#include "sinter/dtype.h"

namespace sinter::ir::reference {

/// Python's %: the sign of b; exact on floats.
inline long double remainder(long double a, long double b) {
  long double r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

/// Python's //: the quotient rounded toward minus infinity; x // 0 is x / 0.
inline long double floor_divide(long double a, long double b) {
  if (b == 0 || std::isnan(a) || std::isnan(b) || std::isinf(a)) return b == 0 ? a / b : std::isinf(a) ? std::nan("") : a + b;
  if (std::isinf(b)) return a == 0 ? std::copysign(0.0L, a) * std::copysign(1.0L, b) : (a < 0) != (b < 0) ? -1 : 0;
  const long double q = (a - std::fmod(a, b)) / b;  // a whole number up to rounding
  const long double whole = std::nearbyint(q);
  const long double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? whole - 1 : (whole == 0 ? std::copysign(0.0L, a / b) : whole);
}

inline std::int64_t remainder(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/// By repeated squaring with wrap; a negative exponent gives 0, except for the bases 1 and -1.
inline std::int64_t pow(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (auto e = static_cast<std::uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= square;
    square *= square;
  }
  return static_cast<std::int64_t>(result);
}

inline std::int64_t left_shift(std::int64_t a, std::int64_t count, DType t) {
  if (count < 0 || count >= 8 * size_of(t)) return 0;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << count);
}

inline std::int64_t right_shift(std::int64_t a, std::int64_t count, DType t) {
  if (count < 0 || count >= 8 * size_of(t)) return a < 0 ? -1 : 0;
  return a >> count;
}

/// Rounded once to long double, which for f32 operands is exact before the last rounding in all but rare cases.
inline long double fma(long double a, long double b, long double c) { return std::fma(a, b, c); }

}  // namespace sinter::ir::reference
