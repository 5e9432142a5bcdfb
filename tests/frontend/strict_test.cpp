// In strict numerics a compiled function gives, bit for bit, what the same function gives run plainly.
#include <functional>

#include "tests/catch.h"
#include "tests/frontend/environment.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

struct Case {
  std::string name;
  std::function<Tensor(Tensor)> function;
};

const std::vector<Case> cases{
    {"gelu", [](Tensor x) { return gelu(x); }},
    {"gelu_erf", [](Tensor x) { return gelu_erf(x); }},
    {"silu", [](Tensor x) { return silu(x); }},
    {"softplus", [](Tensor x) { return softplus(x); }},
    {"softmax", [](Tensor x) { return softmax(x); }},
    {"log_softmax", [](Tensor x) { return log_softmax(x); }},
    {"logsumexp", [](Tensor x) { return logsumexp(x, {.axes = -1}); }},
    {"layer_norm", [](Tensor x) { return layer_norm(x); }},
    {"rms_norm and residual", [](Tensor x) { return rms_norm(x + 1.0) + x; }},
    {"var over columns", [](Tensor x) { return var(x, {.axes = 0}); }},
    {"all elements", [](Tensor x) { return sum(x * x); }},
    {"polynomial", [](Tensor x) { return ((x * 0.1 + 0.2) * x - 0.3) * x + 0.4; }},
    {"products and sums", [](Tensor x) { return x * x + x * 3.0 - x / 7.0; }},
    {"integers", [](Tensor x) { return (astype(x * 10.0, int32) % 7 << 2) ^ 5; }},
    {"comparisons", [](Tensor x) { return where((x > 0) & (x < 1), sqrt(abs(x)), -x); }},
    {"transposed", [](Tensor x) { return exp(matrix_transpose(x)) * 0.5; }},
    {"movement",
     [](Tensor x) {
       return concat({flip(x, 1), pad(x, {1, 0}, {0, 0}, 2)}) * 2.0;
     }},
    {"gather", [](Tensor x) { return take(x, argmax(x, {.axes = -1}) % 3, 1) + 1.0; }},
    {"minimum and maximum", [](Tensor x) { return clamp(x, min(x) * 0.5, max(x) * 0.5); }},
};

/// Rows long enough for the vector loops and their tails.
Tensor sample(DType t, const Shape& shape) {
  manual_seed(17);
  return (randn(shape) * 2.0).astype(t);
}

}  // namespace

TEST_CASE("strict numerics: compiled equals plain, bit for bit") {
  const DType t = GENERATE(f32, bf16, f64);
  const Tensor x = sample(t, {5, 37});
  for (const Case& each : cases) {
    INFO(each.name << " in " << name(t));
    const auto compiled = compile(each.function, {.numerics = Numerics::strict, .name = each.name});
    CHECK(same_bits(compiled(x), each.function(x)));
  }
}

TEST_CASE("standard numerics: compiled stays near plain") {
  const Tensor x = sample(f32, {5, 37});
  for (const Case& each : cases) {
    INFO(each.name);
    const Tensor plain = each.function(x);
    const Tensor fused = compile(each.function, {.name = each.name})(x);
    CHECK(fused.dtype() == plain.dtype());
    CHECK(allclose(fused, plain, 1e-5, 1e-6));
  }
}

TEST_CASE("strict numerics without a compiler: products are the same, too") {
  const Environment none("SINTER_CXX", "off");
  const DType t = GENERATE(f32, bf16, f64);
  const Tensor a = sample(t, {67, 131}), b = sample(t, {131, 45}), c = sample(t, {45, 131});
  const std::vector<std::pair<const char*, std::function<Tensor(Tensor, Tensor, Tensor)>>> products{
      {"scaled", [](Tensor a, Tensor b, Tensor) { return matmul(a * 1.5, b) + 1.0; }},
      {"linear", [](Tensor a, Tensor, Tensor c) { return gelu(linear(a, c)); }},
      {"made",
       [](Tensor a, Tensor, Tensor) {
         return matmul(reshape(linspace(-1.0, 2.0, 134, a.dtype()), {2, 67}), a) - 1.0;
       }},
      {"transposed",
       [](Tensor a, Tensor b, Tensor) { return matmul(matrix_transpose(b), exp(matrix_transpose(a))); }}};
  for (const auto& [name, function] : products) {
    INFO(name << " in " << sinter::name(t));
    const auto compiled = compile(function, {.numerics = Numerics::strict});
    CHECK(same_bits(compiled(a, b, c), function(a, b, c)));
  }
}
