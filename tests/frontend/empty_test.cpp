// Tensors without elements.
#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("products of inner length 0 are zero, wherever their operands come from") {
  const std::vector<double> nothing(4, 0);
  for (DType t : {f32, bf16, f64, int32}) {
    INFO(name(t));
    const Tensor a = zeros({2, 0}, t), b = zeros({0, 2}, t);
    CHECK(text(matmul(a, b)) == text(nothing));
    CHECK(text(matmul(zeros({2, 0}, t), zeros({0, 2}, t))) == text(nothing));
    CHECK(text(matmul(a + 1, b * 2)) == text(nothing));
    CHECK(text(linear(zeros({2, 0}, t), zeros({2, 0}, t))) == text(nothing));
    CHECK(text(matmul(zeros({0}, t), zeros({0}, t))) == text(std::vector<double>{0}));
    CHECK(text(matmul(zeros({3, 2, 0}, t), zeros({0, 1}, t))) == text(std::vector<double>(6, 0)));
    CHECK(text(compile([](Tensor x, Tensor y) { return matmul(x + 1, y * 2); })(a, b)) == text(nothing));
    CHECK(text(compile([](Tensor x, Tensor y) { return matmul(x + 1, y * 2) + 3; })(a, b)) ==
          text(std::vector<double>(4, 3)));
    CHECK(text(compile([t] { return matmul(zeros({2, 0}, t), zeros({0, 2}, t)); })()) == text(nothing));
  }
}
