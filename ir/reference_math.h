// Meanings of the operations that <cmath> has no function for; used by the op table's reference columns and
// the evaluators only. The float forms are templates, so that the table's expressions can be evaluated in
// each of C++'s float types.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "sinter/dtype.h"

namespace sinter::ir::reference {

/// Python's %: the sign of b; exact on floats.
template <std::floating_point T>
T remainder(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

/// Python's //: the quotient rounded toward minus infinity; x // 0 is x / 0.
template <std::floating_point T>
T floor_divide(T a, T b) {
  if (b == 0) return a / b;
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (std::isinf(a)) return std::numeric_limits<T>::quiet_NaN();
  if (std::isinf(b))
    return a == 0 ? std::copysign(T(0), a) * std::copysign(T(1), b) : (a < 0) != (b < 0) ? T(-1) : T(0);
  const T r = std::fmod(a, b);
  const T whole = std::nearbyint((a - r) / b);  // the quotient is whole up to rounding
  if (r != 0 && (r < 0) != (b < 0)) return whole - 1;
  return whole == 0 ? std::copysign(T(0), a / b) : whole;
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

/// Rounded once to T; for f32 operands long double is exact before the last rounding in all but rare cases.
template <std::floating_point T>
T fma(T a, T b, T c) {
  return std::fma(a, b, c);
}

/// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xd2511f53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

/// The op random_bits at one element: the first word of Philox over the block (index, counter), each 64 bits
/// with the low word first.
inline std::int32_t random_bits(std::int64_t key, std::int64_t counter, std::int64_t index) {
  auto low = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  auto high = [](std::int64_t v) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(v) >> 32); };
  return static_cast<std::int32_t>(
      philox({low(index), high(index), low(counter), high(counter)}, {low(key), high(key)})[0]);
}

}  // namespace sinter::ir::reference
