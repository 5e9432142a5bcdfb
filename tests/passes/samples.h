// Operand values that rules and passes are tried on: every value of small dtypes, and of the others those at
// which arithmetic has its corners, with many random ones.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "ir/array.h"

namespace sinter::testing {

inline ir::Array array_of(DType t, const std::vector<ir::Scalar>& values) {
  ir::Array a(t, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) a.set(static_cast<std::int64_t>(i), values[i]);
  return a;
}

/// All values of a dtype of at most 16 bits, in order of their bits.
inline std::vector<ir::Scalar> every_value(DType t) {
  std::vector<ir::Scalar> values;
  if (is_bool(t)) return {{t, 0}, {t, 1}};
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (8 * size_of(t)); ++bits)
    values.push_back(is_float(t) ? ir::Scalar{t, bits}
                                 : ir::Scalar::from_whole(t, static_cast<std::int64_t>(bits)));
  return values;
}

/// Zeros, ones, infinities, NaN, subnormals, extremes, halves, neighbours of powers of two.
inline std::vector<ir::Scalar> special_values(DType t) {
  std::vector<ir::Scalar> values;
  if (!is_float(t)) {
    for (std::int64_t v : {0, 1, -1, 2, 3, -3, 7, 8, 31, 32, 33, 100, -100, 127, -128})
      values.push_back(ir::Scalar::from_whole(t, v));
    for (auto v : {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
                   std::int64_t{1} << 31, (std::int64_t{1} << 31) - 1, -(std::int64_t{1} << 31),
                   std::int64_t{1} << 40})
      values.push_back(ir::Scalar::from_whole(t, v));
    return values;
  }
  constexpr long double inf = std::numeric_limits<long double>::infinity();
  for (long double v :
       {0.0L,      1.0L,      2.0L,        0.5L,     0.25L,           1.5L,     2.5L,    3.0L,
        0.1L,      10.0L,     1e3L,        1e4L,     0x1p-14L,        0x1p-24L, 0x1p15L, 65504.0L,
        0x1p-126L, 0x1p-149L, 0x1.8p-127L, 0x1p127L, 0x1.fffffep127L, 1e-300L,  1e300L,  inf})
    for (long double sign : {1.0L, -1.0L}) values.push_back(ir::Scalar::from_real(t, sign * v));
  values.push_back(ir::Scalar::from_real(t, std::numeric_limits<long double>::quiet_NaN()));
  return values;
}

inline ir::Scalar random_value(DType t, std::mt19937_64& random) {
  if (is_bool(t)) return {t, random() & 1};
  if (is_float(t)) {
    if (random() % 2)
      return ir::Scalar::from_real(t, std::ldexp(static_cast<double>(random() % 2001) - 1000, -8));
    return {t, size_of(t) == 8 ? random() : random() & ((std::uint64_t{1} << (8 * size_of(t))) - 1)};
  }
  return ir::Scalar::from_whole(t, static_cast<std::int64_t>(random()) >> (random() % 60));
}

/// The k-th of several operands of `n` elements. Values of small pools meet each other in all pairs; the
/// first operand of a 16-bit dtype runs through all values, which meet special and random ones.
inline ir::Array operand_samples(DType t, std::size_t k, std::size_t n) {
  std::mt19937_64 random(17 + k);
  const std::vector<ir::Scalar> pool = size_of(t) <= (k == 0 ? 2 : 1) ? every_value(t) : special_values(t);
  std::vector<ir::Scalar> values;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t turn = i / pool.size();
    if (k == 0 && (size_of(t) <= 2 || turn < pool.size()))
      values.push_back(pool[i % pool.size()]);
    else if (k == 1 && size_of(t) != 2 && turn < pool.size())
      values.push_back(pool[turn]);
    else
      values.push_back(random() % 2 ? pool[random() % pool.size()] : random_value(t, random));
  }
  return array_of(t, values);
}

/// The same bits, or both NaN.
inline bool same(ir::Scalar a, ir::Scalar b) {
  if (a.dtype != b.dtype) return false;
  return a.bits == b.bits || (is_float(a.dtype) && std::isnan(a.real()) && std::isnan(b.real()));
}

/// Index of the first element in which two arrays differ, or -1.
inline std::int64_t first_difference(const ir::Array& a, const ir::Array& b) {
  if (a.shape != b.shape) return 0;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (!same(a.at(i), b.at(i))) return i;
  return -1;
}

}  // namespace sinter::testing
