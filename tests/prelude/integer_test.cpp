// Whole-number operations against the op table's references, for every pair of 8-bit numbers and the limits
// of the wider ones.
#include <cstdint>
#include <limits>
#include <vector>

#include "ir/reference_math.h"
#include "sinter/dtype.h"
#include "tests/catch.h"
#include "tests/prelude/host_prelude.h"

namespace {

using sinter::DType;
namespace reference = sinter::ir::reference;

template <class T>
std::vector<T> numbers() {
  std::vector<T> all;
  if constexpr (sizeof(T) == 1) {
    for (int i = 0; i < 256; ++i) all.push_back(static_cast<T>(i));
  } else {
    constexpr T least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
    for (T x : {least, greatest, T(greatest - 1), T(least + 1), T(greatest / 3), T(least / 7)})
      all.push_back(x);
    for (int x :
         {-1000003, -65, -64, -33, -32, -7, -3, -2, -1, 0, 1, 2, 3, 5, 10, 31, 32, 33, 63, 64, 65, 46341})
      all.push_back(x);
  }
  return all;
}

template <class T>
T wrapped(std::int64_t x) {
  return static_cast<T>(x);
}

template <class T>
void check_pairs(DType t) {
  for (const T a : numbers<T>()) {
    for (const T b : numbers<T>()) {
      const std::int64_t x = a, y = b;
      INFO(x << " with " << y);
      const bool right = kernel::floor_divide(a, b) == wrapped<T>(reference::floor_divide(x, y)) &&
                         kernel::remainder(a, b) == wrapped<T>(reference::remainder(x, y)) &&
                         kernel::pow(a, b) == wrapped<T>(reference::pow(x, y)) &&
                         kernel::left_shift(a, b) == wrapped<T>(reference::left_shift(x, y, t)) &&
                         kernel::right_shift(a, b) == wrapped<T>(reference::right_shift(x, y, t)) &&
                         kernel::maximum(a, b) == (x > y ? a : b) && kernel::minimum(a, b) == (x < y ? a : b);
      if (!right) REQUIRE(right);
    }
  }
}

template <class T>
void check_each() {
  for (const T a : numbers<T>()) {
    const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(a));
    INFO(static_cast<std::int64_t>(a));
    CHECK(kernel::abs(a) == (a < 0 ? static_cast<T>(0 - bits) : a));
    CHECK(kernel::sign(a) == static_cast<T>((a > 0) - (a < 0)));
    CHECK(kernel::bitwise_not(a) == static_cast<T>(~bits));
    CHECK(kernel::fma(a, a, a) == static_cast<T>(bits * bits + bits));
    CHECK((kernel::floor(a) == a && kernel::ceil(a) == a && kernel::round(a) == a && kernel::trunc(a) == a));
  }
}

TEST_CASE("8-bit whole numbers behave as the references say") {
  check_pairs<signed char>(DType::int8);
  check_pairs<unsigned char>(DType::uint8);
  check_each<signed char>();
  check_each<unsigned char>();
}

TEST_CASE("wider whole numbers behave as the references say") {
  check_pairs<int>(DType::int32);
  check_pairs<long long>(DType::int64);
  check_each<int>();
  check_each<long long>();
}

TEST_CASE("bool has a not of its own") {
  CHECK(kernel::bitwise_not(false));
  CHECK_FALSE(kernel::bitwise_not(true));
  CHECK(kernel::maximum(true, false));
  CHECK_FALSE(kernel::minimum(true, false));
}

TEST_CASE("random bits are those of the reference") {
  for (const std::int64_t key : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{0x299f31d0a4093822}}) {
    for (const std::int64_t index : {std::int64_t{0}, std::int64_t{7}, std::int64_t{0x123456789abcdef}}) {
      CHECK(kernel::random_bits(key, 5, index) == reference::random_bits(key, 5, index));
      CHECK(kernel::random_bits(key, -3, index) == reference::random_bits(key, -3, index));
    }
  }
}

TEST_CASE("random blocks are the published ones") {
  const kernel::random_block zero = kernel::philox({0, 0, 0, 0}, 0, 0);
  CHECK((zero.x0 == 0x6627e8d5 && zero.x1 == 0xe169c58d && zero.x2 == 0xbc57ac4c && zero.x3 == 0x9b00dbd8));
  const kernel::random_block ones = kernel::philox({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u);
  CHECK((ones.x0 == 0x408f276d && ones.x1 == 0x41c83b0e && ones.x2 == 0xa20bc7c6 && ones.x3 == 0x6d5451fd));
  const kernel::random_block digits_of_pi =
      kernel::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0);
  CHECK((digits_of_pi.x0 == 0xd16cfe09 && digits_of_pi.x1 == 0x94fdcceb && digits_of_pi.x2 == 0x5001e420 &&
         digits_of_pi.x3 == 0x24126ea1));
}

}  // namespace
