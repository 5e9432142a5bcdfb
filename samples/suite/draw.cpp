#include "samples/suite/draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace suite {
namespace {

using sinter::DType;

/// Numbers from a counter (SplitMix64, Steele, Lea and Flood 2014).
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : start_(mix(seed) ^ mix(~stream)) {}

  std::uint64_t bits(std::uint64_t place) const { return mix(start_ + (place + 1) * 0x9e3779b97f4a7c15); }
  /// Over (0, 1].
  double uniform(std::uint64_t place) const { return static_cast<double>((bits(place) >> 11) + 1) * 0x1p-53; }
  /// From 0 to range - 1.
  std::int64_t below(std::int64_t range, std::uint64_t place) const {
    return static_cast<std::int64_t>(bits(place) % static_cast<std::uint64_t>(range));
  }
  /// Two normal numbers (Box and Muller 1958), from those at the place and at the next.
  std::pair<double, double> normal(std::uint64_t place) const {
    const double radius = std::sqrt(-2 * std::log(uniform(place))),
                 angle = 2 * std::numbers::pi * uniform(place + 1);
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t start_;
};

/// The names in a formula such as 2*M + N, each once.
std::set<std::string> symbols_of(const std::string& formula) {
  static const std::regex name("[A-Za-z_][A-Za-z_0-9]*");
  return {std::sregex_token_iterator(formula.begin(), formula.end(), name), std::sregex_token_iterator()};
}

std::int64_t value_of(const sinter::Length& length, const std::string& input) {
  if (const auto* number = std::get_if<std::int64_t>(&length.value())) return *number;
  const std::string& formula = std::get<std::string>(length.value());
  std::string choice;
  for (const std::string& symbol : symbols_of(formula))
    choice += (choice.empty() ? "" : " ") + ("--set " + symbol + "=...");
  throw sinter::ValueError("input " + input + " has the length " + formula +
                           ", which has no value; give it one (" + choice + ") or give the input (--input " +
                           input + "=FILE.npy)");
}

/// How many numbers are drawn before they repeat: enough that no statistic can tell, few enough that large
/// inputs are there at once. Where there are many inputs, those that come late repeat sooner, after a prime
/// number, so that rows differ whatever their length is.
std::size_t period_of(std::uint64_t number) {
  constexpr std::uint64_t first_ones = 16;
  return number < first_ones ? std::size_t{1} << 22 : (std::size_t{1} << 16) + 1;
}

/// Calls work(begin, end) on pieces of [0, count) of even length, on all cores.
template <class Work>
void in_pieces(std::size_t count, const Work& work) {
  constexpr std::size_t fewest = std::size_t{1} << 16;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t pieces = std::clamp<std::size_t>(count / fewest, 1, cores);
  const std::size_t length = (count / pieces + 2) / 2 * 2;
  std::vector<std::jthread> threads;
  for (std::size_t begin = length; begin < count; begin += length)
    threads.emplace_back([&work, begin, end = std::min(begin + length, count)] { work(begin, end); });
  work(std::size_t{0}, std::min(length, count));
}

std::vector<double> draw_floats(std::size_t count, Draw how, double scale, const Random& random) {
  std::vector<double> values(count);
  in_pieces(count, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += 2) {
      const auto [a, b] = random.normal(i);
      values[i] = a * scale;
      if (i + 1 < end) values[i + 1] = b * scale;
    }
  });
  if (how == Draw::positive)
    for (double& value : values) value = std::abs(value);
  return values;
}

std::vector<double> draw_wholes(std::size_t count, std::int64_t low, std::int64_t range,
                                const Random& random) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(low + random.below(range, i));
  return values;
}

/// Makes half of the numbers 0.
void put_zeros(std::vector<double>& values, const Random& random) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (random.bits(i) >> 63 == 0) values[i] = 0;
}

template <class T>
T as(double value) {
  if constexpr (std::is_same_v<T, sinter::float16_t> || std::is_same_v<T, sinter::bfloat16_t>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// The values, repeated as often as the shape needs them; on a GPU by itself, since large inputs take long to
/// get there.
sinter::Tensor make(DType dtype, const sinter::Shape& shape, std::size_t count,
                    const std::vector<double>& values, const sinter::Device& device) {
  return sinter::visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool repeats_there = device.is_gpu() && count > values.size();
    std::vector<T> elements(repeats_there ? values.size() : count);
    for (std::size_t i = 0; i < std::min(elements.size(), values.size()); ++i) elements[i] = as<T>(values[i]);
    for (std::size_t i = values.size(); i < elements.size(); ++i) elements[i] = elements[i - values.size()];
    if (!repeats_there) return sinter::from_vector<T>(elements, shape, device);
    const auto length = static_cast<std::int64_t>(values.size()), all = static_cast<std::int64_t>(count);
    const sinter::Tensor once = sinter::from_vector<T>(elements, {1, length}, device);
    const sinter::Tensor rows = sinter::broadcast_to(once, {(all + length - 1) / length, length});
    return sinter::reshape(sinter::slice(sinter::reshape(rows, {-1}), {{0, all}}), shape);
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
  const Random random(seed, number);
  const std::size_t drawn = std::min(count, period_of(number));
  std::vector<double> values;
  if (is_float(dtype)) {
    const bool is_weight = how == Draw::weights && !shape.empty() && shape[0] > 0;
    values = draw_floats(drawn, how, is_weight ? 1 / std::sqrt(static_cast<double>(shape[0])) : 1, random);
  } else if (is_bool(dtype)) {
    values = draw_wholes(drawn, 0, 2, random);
  } else if (input.index_range) {
    const std::int64_t range = std::max<std::int64_t>(value_of(*input.index_range, input.name), 1);
    const std::int64_t most = dtype == DType::int8 ? 128 : dtype == DType::uint8 ? 256 : range;
    values = draw_wholes(drawn, 0, std::min(range, most), random);
    if (how == Draw::one_often) put_zeros(values, random);
  } else {
    values = draw_wholes(drawn, dtype == DType::uint8 ? 0 : -4, 9, random);
  }
  return make(dtype, shape, count, values, device);
}

}  // namespace suite
