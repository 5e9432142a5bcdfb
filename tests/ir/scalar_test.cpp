// Elements and their conversions. The 16-bit formats are checked in full against their definition: the value
// of every pattern of bits, and rounding at every point where it changes.
#include "ir/scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sinter/error.h"
#include "tests/catch.h"

using namespace sinter;
using namespace sinter::ir;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Format {
  DType t;
  int fraction_bits, exponent_bits;
};
const Format formats[] = {{f16, 10, 5}, {bf16, 7, 8}};

/// IEEE 754's definition of a binary format, for bits without a sign.
double by_definition(const Format& f, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1u << f.fraction_bits) - 1), exponent = bits >> f.fraction_bits;
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  if (exponent == (1u << f.exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  if (exponent == 0) return std::ldexp(fraction, 1 - bias - f.fraction_bits);
  return std::ldexp((1u << f.fraction_bits) + fraction, static_cast<int>(exponent) - bias - f.fraction_bits);
}

std::uint32_t infinity_bits(const Format& f) {
  return ((1u << f.exponent_bits) - 1) << f.fraction_bits;
}

}  // namespace

TEST_CASE("every 16-bit pattern has the value of its definition, and converts back to itself") {
  for (const Format& f : formats) {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
      const double value = by_definition(f, bits);
      const auto positive = static_cast<double>(decode_float(f.t, bits));
      const auto negative = static_cast<double>(decode_float(f.t, bits | 0x8000));
      if (std::isnan(value)) {
        wrong += !std::isnan(positive) || !std::isnan(negative);
        continue;
      }
      wrong += positive != value || negative != -value || !std::signbit(negative);
      wrong += encode_float(f.t, value) != bits || encode_float(f.t, -value) != (bits | 0x8000);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("rounding to 16 bits goes to the nearest, halves to even, from f32 and from long double") {
  for (const Format& f : formats) {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < infinity_bits(f); ++bits) {
      const double low = by_definition(f, bits);
      // Beyond the largest number the next one counts as if the exponent went on.
      const double high =
          bits + 1 == infinity_bits(f) ? 2 * low - by_definition(f, bits - 1) : by_definition(f, bits + 1);
      const double middle = (low + high) / 2;
      const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      for (double sign : {1.0, -1.0}) {
        const std::uint32_t s = sign < 0 ? 0x8000 : 0;
        wrong += encode_float(f.t, sign * middle) != (even | s);
        wrong += encode_float(f.t, sign * std::nextafter(middle, 0.0)) != (bits | s);
        wrong += encode_float(f.t, sign * std::nextafter(middle, 1e300)) != ((bits + 1) | s);
        const auto middle32 = static_cast<float>(sign * middle);  // exact: f32 has more than one further bit
        const auto narrow = [&](float v) -> std::uint32_t {
          return f.t == f16 ? float16_t(v).bits : bfloat16_t(v).bits;
        };
        wrong += narrow(middle32) != (even | s);
        wrong += narrow(std::nextafter(middle32, 0.0f)) != (bits | s);
        wrong += narrow(std::nextafter(middle32, middle32 * 4)) != ((bits + 1) | s);
      }
    }
    CHECK(wrong == 0);
    CHECK(encode_float(f.t, std::numeric_limits<long double>::infinity()) == infinity_bits(f));
    CHECK(encode_float(f.t, 1e300L) == infinity_bits(f));
  }
}

TEST_CASE("NaN stays NaN in every float dtype, and keeps its sign in 16 bits") {
  CHECK(float16_t(std::numeric_limits<float>::quiet_NaN()).bits == 0x7e00);
  CHECK(bfloat16_t(-std::numeric_limits<float>::quiet_NaN()).bits == 0xffc0);
  for (DType t : {f64, f32, f16, bf16})
    CHECK(std::isnan(Scalar::from_real(t, std::numeric_limits<long double>::quiet_NaN()).real()));
}

TEST_CASE("whole numbers wrap, floats saturate") {
  CHECK(wrap(int8, 128) == -128);
  CHECK(wrap(uint8, -1) == 255);
  CHECK(wrap(int32, std::int64_t{1} << 32) == 0);
  CHECK(wrap(boolean, 3) == 1);
  CHECK(saturate(int8, 1e9L) == 127);
  CHECK(saturate(uint8, -1) == 0);
  CHECK(saturate(int64, 0x1p63L) == std::numeric_limits<std::int64_t>::max());
  CHECK(saturate(int64, -0x1p63L) == std::numeric_limits<std::int64_t>::min());
  CHECK(saturate(int32, 2.999L) == 2);
  CHECK(saturate(int32, std::numeric_limits<long double>::quiet_NaN()) == 0);
}

TEST_CASE("casts go through the value") {
  CHECK(Scalar::from_real(f64, 1.0L / 3).cast(f32) == Scalar::from_real(f32, 1.0L / 3));
  CHECK(Scalar::from_whole(int64, 300).cast(int8).whole() == 44);
  CHECK(Scalar::from_whole(int64, 300).cast(boolean).whole() == 1);
  CHECK(Scalar::from_real(f32, 0.5L).cast(boolean).whole() == 1);
  CHECK(Scalar::from_whole(int64, 16777217).cast(f32).real() == 16777216);
  CHECK(Scalar::from_whole(boolean, 1).cast(bf16).real() == 1);
}

TEST_CASE("a number meets a tensor's dtype") {
  const Literal yes{true}, whole{std::int64_t{2}}, real{0.5};
  CHECK(meet(bf16, real) == bf16);
  CHECK(meet(f16, whole) == f16);
  CHECK(meet(int8, whole) == int8);
  CHECK(meet(int8, real) == f32);
  CHECK(meet(boolean, whole) == int64);
  CHECK(meet(boolean, yes) == boolean);
  CHECK(meet(int8, yes) == int8);
  CHECK(default_dtype(real) == f32);
  CHECK(default_dtype(whole) == int64);
  CHECK(default_dtype(yes) == boolean);
}

TEST_CASE("a number that does not fit a whole-number dtype is an error") {
  CHECK(to_scalar(Literal{std::int64_t{255}}, uint8).whole() == 255);
  CHECK_THROWS_WITH(to_scalar(Literal{std::int64_t{256}}, uint8),
                    ContainsSubstring("256 does not fit uint8"));
  CHECK_THROWS_AS(to_scalar(Literal{std::int64_t{-1}}, uint8), DTypeError);
  CHECK_THROWS_AS(to_scalar(Literal{1.5}, int32), DTypeError);
  CHECK(to_scalar(Literal{3.0}, int32).whole() == 3);
}

TEST_CASE("dtypes promote by category, then by width") {
  CHECK(promote(boolean, int8) == int8);
  CHECK(promote(int64, f16) == f16);
  CHECK(promote(f16, bf16) == f32);
  CHECK(promote(int8, uint8) == int32);
  CHECK(promote(uint8, int64) == int64);
  CHECK(promote(f32, f64) == f64);
  for (DType a : all_dtypes)
    for (DType b : all_dtypes) CHECK(promote(a, b) == promote(b, a));
}
