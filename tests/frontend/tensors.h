// Tensors in tests: short ways to make them, and their elements as numbers that compare with NaN and -0 told
// apart.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "frontend/tensor_impl.h"
#include "sinter/sinter.h"

namespace sinter::testing {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double qnan = std::numeric_limits<double>::quiet_NaN();

inline Tensor floats(const std::vector<double>& values, const Shape& shape) {
  return from_vector<float>(std::vector<float>(values.begin(), values.end()), shape);
}
inline Tensor floats(const std::vector<double>& values) {
  return floats(values, {static_cast<std::int64_t>(values.size())});
}
inline Tensor ints(const std::vector<std::int64_t>& values) {
  return from_vector<std::int64_t>(values);
}

/// Elements in row-major order.
inline std::vector<double> numbers(const Tensor& x) {
  return x.astype(f64).to_vector<double>();
}

/// Elements as text, so that NaN equals itself and -0 differs from 0.
inline std::string text(const std::vector<double>& values) {
  std::string result;
  for (const double v : values) {
    if (std::isnan(v))
      result += "nan ";
    else if (v == 0 && std::signbit(v))
      result += "-0 ";
    else
      result += std::to_string(v) + " ";
  }
  return result;
}
inline std::string text(const Tensor& x) {
  return text(numbers(x));
}

/// Whether two tensors are the same bit for bit.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  std::vector<std::byte> as(a.nbytes()), bs(b.nbytes());
  a.copy_to(as.data());
  b.copy_to(bs.data());
  return as == bs;
}

/// Whether all elements are within `tolerance` of the numbers expected, relative to the larger of 1 and their
/// size.
inline bool near(const Tensor& x, const std::vector<double>& expected, double tolerance = 1e-6) {
  const std::vector<double> got = numbers(x);
  if (got.size() != expected.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(got[i])) continue;
    if (got[i] == expected[i]) continue;
    if (!(std::abs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])))) return false;
  }
  return true;
}

}  // namespace sinter::testing
