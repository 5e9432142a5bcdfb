// Conversions among all element types.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "sinter/dtype.h"
#include "tests/catch.h"
#include "tests/prelude/host_prelude.h"

namespace {

using Float = std::numeric_limits<float>;
using Double = std::numeric_limits<double>;

/// The bits of a 16-bit float of the prelude's.
template <class T>
std::uint16_t bits(T x) {
  return static_cast<std::uint16_t>(x);
}

/// The number nearest to x out of a 16-bit type's, the even one of two: found by trying, not by rounding.
template <class Type>
std::uint16_t nearest_16_bit(long double x) {
  const auto value = [](int bits) {
    Type t;
    t.bits = static_cast<std::uint16_t>(bits);
    const float f = static_cast<float>(t);
    // Infinity stands where the next number would.
    Type before = t;
    before.bits = static_cast<std::uint16_t>(bits - 1);
    Type earlier = t;
    earlier.bits = static_cast<std::uint16_t>(bits - 2);
    return std::isinf(f) ? 2.0L * static_cast<float>(before) - static_cast<float>(earlier)
                         : static_cast<long double>(f);
  };
  const long double magnitude = std::abs(x);
  int low = 0, high = 0;
  while (!std::isinf(static_cast<float>([&] {
    Type t;
    t.bits = static_cast<std::uint16_t>(high);
    return t;
  }())))
    high = high == 0 ? 128 : high + 128;
  const int infinity = high;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value(middle) <= magnitude ? low : high) = middle;
  }
  int result = low;
  if (magnitude >= value(infinity)) {
    result = infinity;
  } else {
    const long double down = magnitude - value(low), up = value(high) - magnitude;
    if (up < down || (up == down && low % 2 == 1)) result = high;
  }
  return static_cast<std::uint16_t>(result | (std::signbit(x) ? 0x8000 : 0));
}

template <class F>
void for_random_bits(int count, F&& f) {
  std::mt19937_64 random(7);
  for (int i = 0; i < count; ++i) f(random());
}

TEST_CASE("a float that a whole number takes to zero comes back as +0") {
  volatile float small = -0.25f;
  CHECK_FALSE(std::signbit(kernel::to_f32(kernel::to_int8(small))));
  CHECK_FALSE(std::signbit(kernel::to_f32(kernel::to_int32(small))));
  CHECK_FALSE(std::signbit(kernel::to_f32(kernel::to_int64(small))));
  volatile double low = -0.25;
  CHECK_FALSE(std::signbit(kernel::to_f64(kernel::to_int32(low))));
  CHECK_FALSE(std::signbit(kernel::to_f64(kernel::to_int64(low))));
}

TEST_CASE("every f16 and bf16 number becomes the same number in f32") {
  int wrong = 0;
  for (int i = 0; i < 65536; ++i) {
    sinter::float16_t h;
    sinter::bfloat16_t b;
    h.bits = b.bits = static_cast<std::uint16_t>(i);
    const float from_half = kernel::to_f32((kernel::f16)h.bits),
                from_brain = kernel::to_f32((kernel::bf16)b.bits);
    wrong += std::bit_cast<std::uint32_t>(from_half) != std::bit_cast<std::uint32_t>(static_cast<float>(h));
    wrong += std::bit_cast<std::uint32_t>(from_brain) != std::bit_cast<std::uint32_t>(static_cast<float>(b));
    if (from_half == from_half) wrong += bits(kernel::to_f16(from_half)) != h.bits;
    if (from_brain == from_brain) wrong += bits(kernel::to_bf16(from_brain)) != b.bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("f32 becomes the nearest f16 and bf16, halves to even") {
  int wrong = 0;
  for (std::uint64_t i = 0; i <= 0xffffffffu; i += 997) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(i));
    wrong += bits(kernel::to_f16(x)) != sinter::float16_t(x).bits;
    wrong += bits(kernel::to_bf16(x)) != sinter::bfloat16_t(x).bits;
  }
  CHECK(wrong == 0);
  for (float x : {0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1.000002p-25f, 65504.0f, 65519.996f, 65520.0f, 0x1p-14f,
                  1e38f, 0x1.ffcp-15f, 0x1.ffep-15f, Float::max(), Float::denorm_min(), 0x1.fep127f,
                  0x1.feffp127f, 0x1.ffp127f}) {
    INFO(x);
    CHECK(bits(kernel::to_f16(x)) == nearest_16_bit<sinter::float16_t>(x));
    CHECK(bits(kernel::to_f16(-x)) == nearest_16_bit<sinter::float16_t>(-x));
    CHECK(bits(kernel::to_bf16(x)) == nearest_16_bit<sinter::bfloat16_t>(x));
  }
  CHECK(bits(kernel::to_f16(Float::quiet_NaN())) == 0x7e00);
  CHECK(bits(kernel::to_bf16(Float::quiet_NaN())) == 0x7fc0);
  CHECK(bits(kernel::to_bf16(Float::signaling_NaN())) == 0x7fc0);
}

TEST_CASE("f64 becomes a 16-bit float by one rounding") {
  // Halfway between two numbers, but for a bit that f32 does not hold.
  CHECK(bits(kernel::to_f16(1.0 + 0x1p-11)) == 0x3c00);
  CHECK(bits(kernel::to_f16(1.0 + 0x1p-11 + 0x1p-40)) == 0x3c01);
  CHECK(bits(kernel::to_bf16(1.0 + 0x1p-8 + 0x1p-40)) == 0x3f81);
  CHECK(bits(kernel::to_bf16(0x1.01p-130 + 0x1p-170)) ==
        nearest_16_bit<sinter::bfloat16_t>(0x1.01p-130L + 0x1p-170L));
  CHECK(bits(kernel::to_bf16(1e300)) == 0x7f80);
  CHECK(bits(kernel::to_f16(-1e300)) == 0xfc00);
  CHECK(bits(kernel::to_f16(Double::quiet_NaN())) == 0x7e00);
  for_random_bits(20000, [](std::uint64_t drawn) {
    const int exponent = static_cast<int>(drawn % 60) - 35,
              brain_exponent = static_cast<int>(drawn % 290) - 155;
    const double x = std::ldexp(1 + static_cast<double>(drawn >> 24 & ~(drawn << 6)) * 0x1p-40, exponent);
    const double y =
        std::ldexp(1 + static_cast<double>(drawn >> 24 & ~(drawn << 6)) * 0x1p-40, brain_exponent);
    REQUIRE(bits(kernel::to_f16(x)) == nearest_16_bit<sinter::float16_t>(x));
    REQUIRE(bits(kernel::to_bf16(y)) == nearest_16_bit<sinter::bfloat16_t>(y));
  });
}

TEST_CASE("whole numbers become floats by one rounding") {
  for_random_bits(20000, [](std::uint64_t drawn) {
    const int shift = static_cast<int>(drawn % 63);
    const auto wide = static_cast<std::int64_t>(drawn) >> shift;
    const auto narrow = static_cast<std::int32_t>(static_cast<std::int64_t>(drawn) >> (32 + shift / 2));
    REQUIRE(bits(kernel::to_bf16(static_cast<long long>(wide))) == nearest_16_bit<sinter::bfloat16_t>(wide));
    REQUIRE(bits(kernel::to_bf16(narrow)) == nearest_16_bit<sinter::bfloat16_t>(narrow));
    REQUIRE(bits(kernel::to_f16(static_cast<long long>(wide))) == nearest_16_bit<sinter::float16_t>(wide));
    REQUIRE(bits(kernel::to_f16(narrow)) == nearest_16_bit<sinter::float16_t>(narrow));
    REQUIRE(kernel::to_f32(static_cast<long long>(wide)) ==
            static_cast<float>(static_cast<long double>(wide)));
  });
  // Halfway between two bf16 numbers, but for a bit that f32, or f64, does not hold.
  CHECK(bits(kernel::to_bf16((1 << 30) + (1 << 22) + 1)) == 0x4e81);
  CHECK(bits(kernel::to_bf16((1 << 30) + (1 << 22))) == 0x4e80);
  CHECK(bits(kernel::to_bf16((1ll << 62) + (1ll << 54) + 1)) == 0x5e81);
  CHECK(bits(kernel::to_bf16(-(1ll << 62) - (1ll << 54) - 1)) == 0xde81);
  CHECK(bits(kernel::to_bf16(std::numeric_limits<long long>::min())) == 0xdf00);
  CHECK(bits(kernel::to_bf16(std::numeric_limits<int>::min())) == 0xcf00);
}

TEST_CASE("floats become whole numbers toward zero, saturated, NaN as 0") {
  CHECK(kernel::to_int32(-1.9f) == -1);
  CHECK(kernel::to_int32(Float::quiet_NaN()) == 0);
  CHECK(kernel::to_int32(0x1p31f) == 0x7fffffff);
  CHECK(kernel::to_int32(0x1.fffffep30f) == 0x7fffff80);
  CHECK(kernel::to_int32(-0x1p31f) == -0x7fffffff - 1);
  CHECK(kernel::to_int32(-Float::infinity()) == -0x7fffffff - 1);
  CHECK(kernel::to_int32(2147483647.9) == 0x7fffffff);
  CHECK(kernel::to_int32(-2147483648.9) == -0x7fffffff - 1);
  CHECK(kernel::to_int32(-2147483647.9) == -0x7fffffff);
  CHECK(kernel::to_int8(127.9f) == 127);
  CHECK(kernel::to_int8(128.0f) == 127);
  CHECK(kernel::to_int8(-128.9f) == -128);
  CHECK(kernel::to_int8(-1e9) == -128);
  CHECK(kernel::to_int8(Double::quiet_NaN()) == 0);
  CHECK(kernel::to_uint8(255.9f) == 255);
  CHECK(kernel::to_uint8(1e30f) == 255);
  CHECK(kernel::to_uint8(-0.9f) == 0);
  CHECK(kernel::to_uint8(-5.0) == 0);
  CHECK(kernel::to_int64(0x1p63f) == 0x7fffffffffffffff);
  CHECK(kernel::to_int64(-0x1p63) == -0x7fffffffffffffff - 1);
  CHECK(kernel::to_int64(-1e300) == -0x7fffffffffffffff - 1);
  CHECK(kernel::to_int64(0x1.fffffep62f) == 0x7fffff8000000000);
  CHECK(kernel::to_int64(Double::quiet_NaN()) == 0);
  CHECK(kernel::to_int32(kernel::to_bf16(300.0f)) == 300);
  CHECK(kernel::to_int8(kernel::to_f16(-3.5f)) == -3);
}

TEST_CASE("whole numbers wrap when they become narrower") {
  CHECK(kernel::to_int8(200) == -56);
  CHECK(kernel::to_uint8(-1) == 255);
  CHECK(kernel::to_int32(0x180000001ll) == -0x7fffffff);
  CHECK(kernel::to_uint8(kernel::int8(-1)) == 255);
  CHECK(kernel::to_int32(true) == 1);
}

TEST_CASE("all but zero is true") {
  CHECK(kernel::to_bool(Float::quiet_NaN()));
  CHECK(kernel::to_bool(Float::denorm_min()));
  CHECK_FALSE(kernel::to_bool(-0.0f));
  CHECK_FALSE(kernel::to_bool(kernel::f16(0x8000)));
  CHECK(kernel::to_bool(kernel::bf16(1)));
  CHECK(kernel::to_bool(256));
  CHECK(kernel::to_f32(true) == 1);
  CHECK(kernel::to_f64(false) == 0);
}

}  // namespace
