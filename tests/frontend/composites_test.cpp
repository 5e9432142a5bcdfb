// Composites by published and hand-worked values, and on the special cases of docs/numerics.md.
#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("activations have their published values") {
  const Tensor x = floats({-1, 0, 1});
  // Values from the closed forms, to nine digits.
  CHECK(near(sigmoid(x), {0.268941421, 0.5, 0.731058579}));
  CHECK(near(silu(x), {-0.268941421, 0, 0.731058579}));
  CHECK(near(gelu(x), {-0.158808009, 0, 0.841191991}));
  CHECK(near(gelu_erf(x), {-0.158655254, 0, 0.841344746}));
  CHECK(near(softplus(x), {0.313261688, 0.693147181, 1.313261688}));
  CHECK(near(elu(x), {-0.632120559, 0, 1}));
  CHECK(near(leaky_relu(x, 0.1), {-0.1, 0, 1}));
  CHECK(numbers(relu(x)) == std::vector<double>{0, 0, 1});
  CHECK(numbers(square(floats({-3, 2}))) == std::vector<double>{9, 4});
  CHECK(near(swiglu(x, floats({2, 2, 2})), {-0.537882842, 0, 1.462117157}));
}

TEST_CASE("activations keep their sense at the ends of the range") {
  const Tensor x = floats({-200, 200, -inf, inf, qnan});
  CHECK(near(sigmoid(x), {0, 1, 0, 1, qnan}));
  CHECK(near(softplus(x), {0, 200, 0, inf, qnan}));
  CHECK(text(relu(floats({qnan, -inf, inf}))) == text({qnan, 0, inf}));
}

namespace {

/// The greatest error in units in the last place of f32, which are those of the subnormals below 2^-126.
template <class Exact>
double greatest_error(const Tensor& inputs, const Tensor& results, const Exact& exact) {
  const std::vector<float> x = inputs.to_vector<float>(), y = results.to_vector<float>();
  double greatest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double expected = exact(static_cast<long double>(x[i]));
    const int exponent = expected == 0 ? -126 : std::max(std::ilogb(expected), -126);
    const long double error = std::abs(y[i] - expected) / std::ldexp(1.0L, exponent - 23);
    greatest = std::max(greatest, static_cast<double>(error));
  }
  return greatest;
}

}  // namespace

TEST_CASE("sigmoid is within 4 units of the exact value down to the least subnormal") {
  const auto exact = [](long double x) { return 1 / (1 + std::exp(-x)); };
  const Tensor x = linspace(-110.0, 30.0, 700001);
  CHECK(greatest_error(x, sigmoid(x), exact) <= 4);
  CHECK(greatest_error(x, compile([](Tensor z) { return sigmoid(z); })(x), exact) <= 4);
  CHECK(sigmoid(floats({-88.73})).item<float>() == Catch::Detail::Approx(2.9178e-39).epsilon(1e-4));
  CHECK(numbers(silu(floats({-100})))[0] == -100 * std::ldexp(27.0, -149));
  const Tensor narrow = sigmoid(floats({-12}).astype(f16));  // exp(12) is above every f16
  CHECK(numbers(narrow)[0] == std::ldexp(103.0, -24));
  CHECK(numbers(silu(floats({-12}).astype(f16)))[0] == -12 * std::ldexp(103.0, -24));
  const Tensor wide = sigmoid(from_vector<double>({-740}));
  CHECK(numbers(wide)[0] == Catch::Detail::Approx(std::exp(-740)).epsilon(0.05));
}

TEST_CASE("activations of whole numbers are those of the same floats") {
  const Tensor x = ints({0, 1, 200}).astype(uint8);
  CHECK(sigmoid(x).dtype() == f32);
  CHECK(near(sigmoid(x), {0.5, 0.731058579, 1}));
  CHECK(near(softplus(x), {0.693147181, 1.313261688, 200}));
  CHECK(near(gelu(x), {0, 0.841191991, 200}));
}

TEST_CASE("clamp holds values between bounds, the upper one last, and keeps NaN") {
  CHECK(text(clamp(floats({-5, 0.5, 5, qnan}), 0.0, 1.0)) == text({0, 0.5, 1, qnan}));
  CHECK(numbers(clamp(floats({0, 5}), 3.0, 1.0)) == std::vector<double>{1, 1});
  CHECK(numbers(clamp(floats({-5, 5}), {}, 1.0)) == std::vector<double>{-5, 1});
  CHECK(numbers(clamp(floats({-5, 5}), floats({-6, 6}), {})) == std::vector<double>{-5, 6});
}

TEST_CASE("mean, var and std are those of NumPy") {
  const Tensor x = floats({1, 2, 3, 4, 5, 7}, {2, 3});
  CHECK(near(mean(x), {22.0 / 6}));
  CHECK(near(mean(x, {.axes = {-1}}), {2, 16.0 / 3}));
  CHECK(mean(x, {.axes = 0, .keepdims = true}).shape() == Shape{1, 3});
  CHECK(near(var(x, {.axes = -1}), {2.0 / 3, 14.0 / 9}));
  CHECK(near(var(x, {.axes = -1, .correction = 1}), {1, 7.0 / 3}));
  CHECK(near(sinter::std(x, {.axes = -1}), {std::sqrt(2.0 / 3), std::sqrt(14.0 / 9)}));
  CHECK(mean(ints({1, 2})).dtype() == f32);
  CHECK(near(mean(ints({1, 2})), {1.5}));
  CHECK(text(mean(zeros({0}))) == text({qnan}));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(numbers(mean(ints({most, most})))[0] == 0x1p63);
  CHECK(numbers(mean(ints({-most, -most, -most, -most})))[0] == -0x1p63);
  CHECK(numbers(mean(ints({std::int64_t{1} << 40, -(std::int64_t{1} << 40), 3})))[0] == 1);
  CHECK(numbers(compile([](Tensor x) { return mean(x); })(ints({most, most})))[0] == 0x1p63);
  CHECK(near(var(ints({most, -most})), {0x1p126}));
}

TEST_CASE("a small variance around a large mean comes out right") {
  const Tensor x = from_vector<double>({1e4 - 0.01, 1e4 + 0.01, 1e4 - 0.01, 1e4 + 0.01});
  CHECK(near(var(x), {1e-4}, 1e-9));
}

TEST_CASE("means of 16-bit floats neither overflow nor lose their digits") {
  CHECK(near(mean(full({70000}, 1.0, f16)), {1}));
  CHECK(near(mean(full({3000}, 3.0, bf16)), {3}));
  CHECK(mean(ones({4}, bf16)).dtype() == bf16);
}

TEST_CASE("softmax sums to one, is shifted by the maximum, and is NaN on a row of -inf") {
  // exp(i) / sum for i = 1, 2, 3.
  const std::vector<double> row{0.090030573, 0.244728471, 0.665240956};
  CHECK(near(softmax(floats({1, 2, 3})), row));
  CHECK(near(softmax(floats({10001, 10002, 10003})), row));
  CHECK(near(softmax(floats({1, 2, 3}, {3, 1}), 0), row));
  CHECK(text(softmax(floats({-inf, -inf}))) == text({qnan, qnan}));
  CHECK(near(softmax(floats({-inf, 0})), {0, 1}));
  CHECK(softmax(ones({2, 4}, bf16)).dtype() == bf16);
}

TEST_CASE("log_softmax keeps what softmax would lose") {
  CHECK(near(log_softmax(floats({1, 2, 3})), {-2.407605964, -1.407605964, -0.407605964}));
  CHECK(near(log_softmax(floats({0, 1000})), {-1000, 0}));
}

TEST_CASE("logsumexp of infinities is what the limit is") {
  CHECK(near(logsumexp(floats({1, 2, 3})), {3.407605964}));
  CHECK(near(logsumexp(floats({1000, 1000})), {1000.693147181}));
  CHECK(text(logsumexp(floats({-inf, -inf}))) == text({-inf}));
  CHECK(text(logsumexp(floats({inf, 0}))) == text({inf}));
  CHECK(text(logsumexp(floats({inf, -inf}))) == text({inf}));
  CHECK(text(logsumexp(floats({qnan, inf}))) == text({qnan}));
  CHECK(logsumexp(ones({2, 3}), {.axes = 1}).shape() == Shape{2});
  CHECK(logsumexp(ones({2, 3}), {.axes = {0, 1}, .keepdims = true}).shape() == Shape{1, 1});
}

TEST_CASE("cross_entropy is the negative log probability of the label") {
  const Tensor logits = floats({1, 2, 3, 3, 2, 1}, {2, 3});
  CHECK(near(cross_entropy(logits, ints({0, 0})), {2.407605964, 0.407605964}));
  CHECK(cross_entropy(logits, ints({0, 0}).astype(int32)).shape() == Shape{2});
}

TEST_CASE("layer_norm and rms_norm normalise rows, then scale and shift") {
  const Tensor x = floats({1, 2, 3, 4}, {1, 4});
  const double deviation = std::sqrt(1.25 + 1e-5);
  CHECK(near(layer_norm(x), {-1.5 / deviation, -0.5 / deviation, 0.5 / deviation, 1.5 / deviation}));
  const Tensor weight = floats({1, 2, 3, 4}), bias = floats({0, 0, 1, 1});
  CHECK(near(
      layer_norm(x, {.weight = weight, .bias = bias, .eps = 0}),
      {-1.5 / std::sqrt(1.25), -1 / std::sqrt(1.25), 1.5 / std::sqrt(1.25) + 1, 6 / std::sqrt(1.25) + 1}));
  const double root = std::sqrt(7.5);
  CHECK(near(rms_norm(x, {.eps = 0}), {1 / root, 2 / root, 3 / root, 4 / root}));
  CHECK(near(rms_norm(x, {.weight = weight, .eps = 0}), {1 / root, 4 / root, 9 / root, 16 / root}));
  CHECK(layer_norm(ones({2, 4}, bf16), {.weight = ones({4})}).dtype() == bf16);
}

TEST_CASE("linear multiplies by the transposed weight and adds the bias") {
  const Tensor x = floats({1, 2}, {1, 2}), weight = floats({1, 0, 0, 1, 1, 1}, {3, 2});
  CHECK(numbers(linear(x, weight)) == std::vector<double>{1, 2, 3});
  CHECK(numbers(linear(x, weight, floats({10, 20, 30}))) == std::vector<double>{11, 22, 33});
}

TEST_CASE("composites work with lengths that are symbols") {
  const auto norm = compile([](Tensor x) { return layer_norm(x) + mean(x, {.axes = {0}}); });
  const std::string text = norm.lower(TensorSpec{f32, {"M", "N"}}).text();
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("f32[M, N]"));
}
