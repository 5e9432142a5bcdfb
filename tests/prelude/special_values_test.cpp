// Values at the limits, as C99's Annex F and the semantics of the operations have them.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/catch.h"
#include "tests/prelude/host_prelude.h"

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr float tiny = std::numeric_limits<float>::denorm_min(), huge = std::numeric_limits<float>::max();

/// Equal bit for bit, but for NaN, of which there is one.
bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

struct Case {
  const char* text;
  float got, wanted;
};

#define CASE(call, wanted) \
  { #call " = " #wanted, kernel::call, wanted }

void check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    INFO(c.text << ", but got " << c.got);
    CHECK(same(c.got, c.wanted));
  }
}

TEST_CASE("exponentials at their limits") {
  check({CASE(exp(0.0f), 1), CASE(exp(-0.0f), 1), CASE(exp(-inf), 0), CASE(exp(inf), inf),
         CASE(exp(nan), nan), CASE(exp(88.72284f), std::exp(88.72284f)), CASE(exp(88.72285f), inf),
         CASE(exp(huge), inf), CASE(exp(-103.97208f), tiny), CASE(exp(-103.97209f), 0), CASE(exp(-huge), 0)});
  check({CASE(exp2(0.0f), 1), CASE(exp2(-inf), 0), CASE(exp2(inf), inf), CASE(exp2(nan), nan),
         CASE(exp2(127.0f), 0x1p127f), CASE(exp2(128.0f), inf), CASE(exp2(-126.0f), 0x1p-126f),
         CASE(exp2(-149.0f), tiny), CASE(exp2(-150.0f), 0), CASE(exp2(10.0f), 1024)});
  check({CASE(expm1(0.0f), 0), CASE(expm1(-0.0f), -0.0f), CASE(expm1(-inf), -1), CASE(expm1(inf), inf),
         CASE(expm1(nan), nan), CASE(expm1(tiny), tiny), CASE(expm1(-3 * tiny), -3 * tiny),
         CASE(expm1(-huge), -1)});
}

TEST_CASE("logarithms at their limits") {
  check({CASE(log(1.0f), 0), CASE(log(0.0f), -inf), CASE(log(-0.0f), -inf), CASE(log(-1.0f), nan),
         CASE(log(-tiny), nan), CASE(log(-inf), nan), CASE(log(inf), inf), CASE(log(nan), nan),
         CASE(log(tiny), std::log(tiny))});
  check({CASE(log2(1.0f), 0), CASE(log2(0.0f), -inf), CASE(log2(-1.0f), nan), CASE(log2(inf), inf),
         CASE(log2(tiny), -149), CASE(log2(0x1p127f), 127), CASE(log2(8.0f), 3)});
  check({CASE(log10(1.0f), 0), CASE(log10(0.0f), -inf), CASE(log10(-1.0f), nan), CASE(log10(inf), inf),
         CASE(log10(nan), nan), CASE(log10(1000.0f), 3)});
  check({CASE(log1p(0.0f), 0), CASE(log1p(-0.0f), -0.0f), CASE(log1p(-1.0f), -inf), CASE(log1p(-2.0f), nan),
         CASE(log1p(inf), inf), CASE(log1p(-inf), nan), CASE(log1p(nan), nan), CASE(log1p(tiny), tiny),
         CASE(log1p(-5 * tiny), -5 * tiny)});
}

TEST_CASE("trigonometric functions at their limits") {
  check({CASE(sin(0.0f), 0), CASE(sin(-0.0f), -0.0f), CASE(sin(inf), nan), CASE(sin(-inf), nan),
         CASE(sin(nan), nan), CASE(sin(tiny), tiny), CASE(cos(0.0f), 1), CASE(cos(-0.0f), 1),
         CASE(cos(inf), nan), CASE(cos(nan), nan), CASE(tan(0.0f), 0), CASE(tan(-0.0f), -0.0f),
         CASE(tan(inf), nan), CASE(tan(nan), nan), CASE(tan(-tiny), -tiny)});
  check({CASE(asin(0.0f), 0), CASE(asin(-0.0f), -0.0f), CASE(asin(1.0f), 0x1.921fb6p0f),
         CASE(asin(1.5f), nan), CASE(asin(-inf), nan), CASE(asin(nan), nan), CASE(acos(1.0f), 0),
         CASE(acos(-1.0f), 0x1.921fb6p1f), CASE(acos(1.5f), nan), CASE(acos(nan), nan),
         CASE(acos(0.0f), 0x1.921fb6p0f), CASE(atan(0.0f), 0), CASE(atan(-0.0f), -0.0f),
         CASE(atan(inf), 0x1.921fb6p0f), CASE(atan(-inf), -0x1.921fb6p0f), CASE(atan(nan), nan),
         CASE(atan(tiny), tiny)});
}

TEST_CASE("atan2 on the axes and diagonals") {
  const float pi = 0x1.921fb6p1f;
  check({CASE(atan2(0.0f, 0.0f), 0), CASE(atan2(-0.0f, 0.0f), -0.0f), CASE(atan2(0.0f, -0.0f), pi),
         CASE(atan2(-0.0f, -0.0f), -pi), CASE(atan2(0.0f, 1.0f), 0), CASE(atan2(-0.0f, 1.0f), -0.0f),
         CASE(atan2(0.0f, -1.0f), pi), CASE(atan2(-0.0f, -1.0f), -pi), CASE(atan2(1.0f, 0.0f), pi / 2),
         CASE(atan2(-1.0f, -0.0f), -pi / 2), CASE(atan2(1.0f, inf), 0), CASE(atan2(1.0f, -inf), pi),
         CASE(atan2(inf, 1.0f), pi / 2), CASE(atan2(inf, inf), pi / 4),
         CASE(atan2(inf, -inf), std::atan2(inf, -inf)), CASE(atan2(-inf, -inf), std::atan2(-inf, -inf)),
         CASE(atan2(nan, 0.0f), nan), CASE(atan2(0.0f, nan), nan), CASE(atan2(nan, inf), nan)});
}

TEST_CASE("hyperbolic functions at their limits") {
  check({CASE(tanh(0.0f), 0), CASE(tanh(-0.0f), -0.0f), CASE(tanh(inf), 1), CASE(tanh(-inf), -1),
         CASE(tanh(nan), nan), CASE(tanh(tiny), tiny), CASE(tanh(huge), 1)});
  check({CASE(sinh(-0.0f), -0.0f), CASE(sinh(inf), inf), CASE(sinh(-inf), -inf), CASE(sinh(nan), nan),
         CASE(sinh(tiny), tiny), CASE(sinh(89.5f), inf), CASE(cosh(0.0f), 1), CASE(cosh(inf), inf),
         CASE(cosh(-inf), inf), CASE(cosh(nan), nan), CASE(cosh(-89.5f), inf)});
  check({CASE(asinh(-0.0f), -0.0f), CASE(asinh(inf), inf), CASE(asinh(-inf), -inf), CASE(asinh(nan), nan),
         CASE(asinh(tiny), tiny), CASE(acosh(1.0f), 0), CASE(acosh(0.5f), nan), CASE(acosh(-5.0f), nan),
         CASE(acosh(inf), inf), CASE(acosh(-inf), nan), CASE(acosh(nan), nan), CASE(atanh(0.0f), 0),
         CASE(atanh(-0.0f), -0.0f), CASE(atanh(1.0f), inf), CASE(atanh(-1.0f), -inf), CASE(atanh(1.5f), nan),
         CASE(atanh(-inf), nan), CASE(atanh(nan), nan), CASE(atanh(tiny), tiny)});
}

TEST_CASE("error functions at their limits") {
  check({CASE(erf(0.0f), 0), CASE(erf(-0.0f), -0.0f), CASE(erf(inf), 1), CASE(erf(-inf), -1),
         CASE(erf(nan), nan), CASE(erfc(0.0f), 1), CASE(erfc(-inf), 2), CASE(erfc(inf), 0),
         CASE(erfc(nan), nan), CASE(erfc(11.0f), 0)});
}

TEST_CASE("powers at their limits") {
  check({CASE(pow(nan, 0.0f), 1), CASE(pow(inf, -0.0f), 1), CASE(pow(1.0f, nan), 1), CASE(pow(1.0f, inf), 1),
         CASE(pow(-1.0f, inf), 1), CASE(pow(-1.0f, -inf), 1), CASE(pow(nan, 1.0f), nan),
         CASE(pow(2.0f, nan), nan), CASE(pow(0.0f, 3.0f), 0), CASE(pow(-0.0f, 3.0f), -0.0f),
         CASE(pow(-0.0f, 2.0f), 0), CASE(pow(0.0f, -3.0f), inf), CASE(pow(-0.0f, -3.0f), -inf),
         CASE(pow(-0.0f, -2.0f), inf), CASE(pow(-0.0f, -0.5f), inf), CASE(pow(0.0f, inf), 0),
         CASE(pow(0.0f, -inf), inf)});
  check({CASE(pow(-8.0f, 1.0f / 3), nan), CASE(pow(-2.0f, 3.0f), -8),     CASE(pow(-2.0f, 2.0f), 4),
         CASE(pow(-2.0f, -1.0f), -0.5f),  CASE(pow(0.5f, -inf), inf),     CASE(pow(0.5f, inf), 0),
         CASE(pow(2.0f, inf), inf),       CASE(pow(2.0f, -inf), 0),       CASE(pow(inf, 2.0f), inf),
         CASE(pow(inf, -2.0f), 0),        CASE(pow(-inf, 3.0f), -inf),    CASE(pow(-inf, 2.0f), inf),
         CASE(pow(-inf, -3.0f), -0.0f),   CASE(pow(-inf, 0.5f), inf),     CASE(pow(2.0f, 127.0f), 0x1p127f),
         CASE(pow(2.0f, 128.0f), inf),    CASE(pow(2.0f, -149.0f), tiny), CASE(pow(2.0f, -151.0f), 0),
         CASE(pow(10.0f, 2.0f), 100),     CASE(pow(huge, 1.0f), huge),    CASE(pow(tiny, 1.0f), tiny)});
}

TEST_CASE("roots and lengths at their limits") {
  check({CASE(sqrt(-0.0f), -0.0f), CASE(sqrt(-1.0f), nan), CASE(sqrt(inf), inf), CASE(rsqrt(0.0f), inf),
         CASE(rsqrt(-0.0f), -inf), CASE(rsqrt(inf), 0), CASE(rsqrt(-1.0f), nan),
         CASE(reciprocal(-0.0f), -inf), CASE(reciprocal(inf), 0)});
  check({CASE(hypot(3.0f, -4.0f), 5), CASE(hypot(inf, nan), inf), CASE(hypot(nan, -inf), inf),
         CASE(hypot(nan, 0.0f), nan), CASE(hypot(0.0f, nan), nan), CASE(hypot(-0.0f, 0.0f), 0),
         CASE(hypot(tiny, 0.0f), tiny), CASE(hypot(0.0f, -huge), huge), CASE(hypot(huge, huge), inf),
         CASE(hypot(3 * tiny, 4 * tiny), 5 * tiny), CASE(hypot(3e30f, 4e30f), 5e30f)});
}

TEST_CASE("NaN wins in maximum and minimum, and zeros are ordered by sign") {
  check({CASE(maximum(nan, 1.0f), nan), CASE(maximum(1.0f, nan), nan), CASE(maximum(-0.0f, 0.0f), 0),
         CASE(maximum(0.0f, -0.0f), 0), CASE(maximum(-inf, -huge), -huge), CASE(maximum(2.0f, 1.0f), 2),
         CASE(minimum(nan, 1.0f), nan), CASE(minimum(1.0f, nan), nan), CASE(minimum(-0.0f, 0.0f), -0.0f),
         CASE(minimum(0.0f, -0.0f), -0.0f), CASE(minimum(2.0f, 1.0f), 1), CASE(minimum(inf, huge), huge)});
  CHECK(std::isnan(kernel::maximum(1.0, std::nan(""))));
  CHECK(std::isnan(kernel::minimum(std::nan(""), 1.0)));
  CHECK(std::signbit(kernel::minimum(0.0, -0.0)));
  CHECK_FALSE(std::signbit(kernel::maximum(-0.0, 0.0)));
  CHECK_FALSE(std::signbit(kernel::maximum(0.0, -0.0)));
}

TEST_CASE("rounding, signs and tests of floats") {
  check({CASE(round(0.5f), 0), CASE(round(1.5f), 2), CASE(round(-0.5f), -0.0f), CASE(round(2.5f), 2),
         CASE(ceil(-0.5f), -0.0f), CASE(floor(-0.5f), -1), CASE(trunc(-1.5f), -1), CASE(sign(-3.0f), -1),
         CASE(sign(inf), 1), CASE(sign(nan), nan), CASE(sign(0.0f), 0), CASE(sign(-0.0f), 0),
         CASE(abs(-0.0f), 0), CASE(copysign(1.0f, -0.0f), -1)});
  CHECK((kernel::isnan(nan) && !kernel::isnan(inf) && !kernel::isnan(3)));
  CHECK((kernel::isinf(-inf) && !kernel::isinf(huge) && !kernel::isinf(nan) && !kernel::isinf(3)));
  CHECK((kernel::isfinite(-huge) && !kernel::isfinite(inf) && !kernel::isfinite(nan) && kernel::isfinite(3)));
  CHECK((kernel::isinf(1e308 * 10) && !kernel::isinf(1e308) && kernel::isfinite(1e308)));
}

TEST_CASE("floor_divide and remainder of floats") {
  check({CASE(floor_divide(7.0f, 2.0f), 3), CASE(floor_divide(-7.0f, 2.0f), -4),
         CASE(floor_divide(1.0f, 0.0f), inf), CASE(floor_divide(-1.0f, 0.0f), -inf),
         CASE(floor_divide(0.0f, 0.0f), nan), CASE(floor_divide(inf, 2.0f), nan),
         CASE(floor_divide(1.0f, -inf), -1), CASE(floor_divide(-1.0f, -inf), 0),
         CASE(floor_divide(-0.0f, 2.0f), -0.0f), CASE(floor_divide(-tiny, huge), -1),
         CASE(floor_divide(1.0f, 0.1f), 9), CASE(floor_divide(6.0f, 0.1f), 59)});
  check({CASE(remainder(7.0f, 2.0f), 1), CASE(remainder(-7.0f, 2.0f), 1), CASE(remainder(7.0f, -2.0f), -1),
         CASE(remainder(4.0f, -2.0f), -0.0f), CASE(remainder(-4.0f, 2.0f), 0), CASE(remainder(1.0f, inf), 1),
         CASE(remainder(-1.0f, inf), inf), CASE(remainder(1.0f, 0.0f), nan), CASE(remainder(inf, 1.0f), nan),
         CASE(remainder(1e30f, 3.0f), std::fmod(1e30f, 3.0f))});
}

}  // namespace
