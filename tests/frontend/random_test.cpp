// Random numbers: the sequence, its repetition, and its distribution.
#include <cmath>

#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("the first random number is the published first word of Philox 4x32-10") {
  // Key 0 and counter 0 give 6627e8d5 (the known answers of Random123).
  manual_seed(0);
  CHECK(rand({1}).item<float>() == static_cast<float>(0x6627e8d5u >> 8) * 0x1p-24f);
}

TEST_CASE("a seed gives the same numbers again, and each draw others") {
  manual_seed(42);
  const Tensor a = rand({100}), b = rand({100});
  CHECK_FALSE(array_equal(a, b));
  manual_seed(42);
  CHECK(same_bits(rand({100}), a));
  CHECK(same_bits(rand({100}), b));
  manual_seed(43);
  CHECK_FALSE(array_equal(rand({100}), a));
}

TEST_CASE("a draw keeps its values however often it is used") {
  const Tensor a = rand({50});
  CHECK(same_bits(a * 1.0, a + 0.0));
}

TEST_CASE("uniform numbers lie in [0, 1) in every float dtype") {
  manual_seed(1);
  for (const DType t : {f64, f32, f16, bf16}) {
    const Tensor x = rand({20000}, t);
    CHECK(x.dtype() == t);
    const std::vector<double> v = numbers(x);
    const auto [low, high] = std::minmax_element(v.begin(), v.end());
    CHECK(*low >= 0);
    CHECK(*high < 1);
    CHECK(*high > 0.99);
    CHECK(std::abs(mean(x.astype(f64)).item<double>() - 0.5) < 0.01);
  }
}

TEST_CASE("normal numbers have mean 0, variance 1 and the tails of the normal distribution") {
  manual_seed(2);
  for (const DType t : {f64, f32, bf16}) {
    const Tensor x = randn({40000}, t).astype(f64);
    CHECK(std::abs(mean(x).item<double>()) < 0.02);
    CHECK(std::abs(var(x).item<double>() - 1) < 0.03);
    const double beyond_two = mean((abs(x) > 2.0).astype(f64)).item<double>();
    CHECK(std::abs(beyond_two - 0.0455) < 0.005);
  }
}

TEST_CASE("a compiled function draws anew on every run, from the sequence that plain calls use") {
  const auto noisy = compile([](Tensor x) { return x + rand({4}) + rand({4}); });
  const Tensor x = floats({0, 0, 0, 0});
  manual_seed(7);
  const Tensor first = noisy(x), second = noisy(x);
  CHECK_FALSE(array_equal(first, second));
  manual_seed(7);
  CHECK(same_bits(noisy(x), first));
  CHECK(same_bits(noisy(x), second));
  manual_seed(7);
  const Tensor a = rand({4}), b = rand({4});
  CHECK(same_bits(x + a + b, first));
  CHECK(noisy.programs().size() == 1);
}

TEST_CASE("random numbers come in floats only") {
  CHECK_THROWS_AS(rand({2}, int32), DTypeError);
  CHECK_THROWS_AS(randn({2}, boolean), DTypeError);
}
