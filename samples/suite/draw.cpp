#include "samples/suite/draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace suite {
namespace {

using sinter::DType;

/// Numbers from a counter (SplitMix64, Steele, Lea and Flood 2014).
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed) ^ mix(~stream)) {}

  std::uint64_t bits() { return mix(state_ += 0x9e3779b97f4a7c15); }
  /// Over (0, 1].
  double uniform() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }
  /// From 0 to range - 1.
  std::int64_t below(std::int64_t range) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(range));
  }
  /// Two normal numbers (Box and Muller 1958).
  std::pair<double, double> normal() {
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

std::int64_t value_of(const sinter::Length& length, const std::string& input) {
  if (const auto* number = std::get_if<std::int64_t>(&length.value())) return *number;
  const std::string& symbol = std::get<std::string>(length.value());
  throw sinter::ValueError("input " + input + " has the length " + symbol +
                           ", which has no value; give it one (--set " + symbol +
                           "=...) or give the input (--input " + input + "=FILE.npy)");
}

/// How many numbers are drawn before they repeat: enough that no statistic can tell, few enough that large
/// inputs are there at once.
constexpr std::size_t period = std::size_t{1} << 22;

std::vector<double> draw_floats(std::size_t count, Draw how, double scale, Random& random) {
  std::vector<double> values(std::min(count, period));
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto [a, b] = random.normal();
    values[i] = a * scale;
    if (i + 1 < values.size()) values[i + 1] = b * scale;
  }
  if (how == Draw::positive)
    for (double& value : values) value = std::abs(value);
  return values;
}

std::vector<double> draw_wholes(std::size_t count, std::int64_t low, std::int64_t range, Random& random) {
  std::vector<double> values(std::min(count, period));
  for (double& value : values) value = static_cast<double>(low + random.below(range));
  return values;
}

template <class T>
T as(double value) {
  if constexpr (std::is_same_v<T, sinter::float16_t> || std::is_same_v<T, sinter::bfloat16_t>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// The values, repeated as often as the shape needs them.
sinter::Tensor make(DType dtype, const sinter::Shape& shape, std::size_t count,
                    const std::vector<double>& values, const sinter::Device& device) {
  return sinter::visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> elements(count);
    for (std::size_t i = 0; i < std::min(count, values.size()); ++i) elements[i] = as<T>(values[i]);
    for (std::size_t i = values.size(); i < count; ++i) elements[i] = elements[i - values.size()];
    return sinter::from_vector<T>(elements, shape, device);
  });
}

}  // namespace

sinter::Tensor draw(const sinter::GraphInput& input, Draw how, std::uint64_t seed, std::uint64_t number,
                    const sinter::Device& device) {
  sinter::Shape shape;
  for (const sinter::Length& length : input.spec.shape) shape.push_back(value_of(length, input.name));
  const DType dtype = input.spec.dtype;
  std::size_t count = 1;
  for (const std::int64_t length : shape)
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(length), &count) || count > std::size_t{1}
                                                                                               << 40)
      throw sinter::ValueError("input " + input.name +
                               " is larger than any memory; choose smaller lengths with --set");
  Random random(seed, number);
  std::vector<double> values;
  if (is_float(dtype)) {
    const bool is_weight = how == Draw::weights && !shape.empty() && shape[0] > 0;
    values = draw_floats(count, how, is_weight ? 1 / std::sqrt(static_cast<double>(shape[0])) : 1, random);
  } else if (is_bool(dtype)) {
    values = draw_wholes(count, 0, 2, random);
  } else if (input.index_range) {
    const std::int64_t range = std::max<std::int64_t>(value_of(*input.index_range, input.name), 1);
    const std::int64_t most = dtype == DType::int8 ? 128 : dtype == DType::uint8 ? 256 : range;
    values = draw_wholes(count, 0, std::min(range, most), random);
  } else {
    values = draw_wholes(count, dtype == DType::uint8 ? 0 : -4, 9, random);
  }
  return make(dtype, shape, count, values, device);
}

}  // namespace suite
