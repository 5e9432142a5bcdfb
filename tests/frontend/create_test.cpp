// Tensors made from nothing, and how programs take them in.
#include "frontend/built_program.h"
#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("zeros, ones and full fill a shape") {
  CHECK(numbers(zeros({2, 2})) == std::vector<double>{0, 0, 0, 0});
  CHECK(zeros({2}).contiguous());
  CHECK(ones({2}, int8).dtype() == int8);
  CHECK(full({2}, 3).dtype() == int64);
  CHECK(full({2}, 0.5).dtype() == f32);
  CHECK(full({2}, true).dtype() == boolean);
  CHECK(full({2}, 3, bf16).dtype() == bf16);
  CHECK(numbers(full({3}, floats({4}))) == std::vector<double>{4, 4, 4});
  CHECK(zeros({0, 3}).size() == 0);
  CHECK(zeros({}).rank() == 0);
}

TEST_CASE("arange counts as NumPy's does") {
  CHECK(numbers(arange(4)) == std::vector<double>{0, 1, 2, 3});
  CHECK(numbers(arange(2, 9, 3)) == std::vector<double>{2, 5, 8});
  CHECK(numbers(arange(5, 0, -2)) == std::vector<double>{5, 3, 1});
  CHECK(arange(5, 5).size() == 0);
  CHECK(arange(0, 10, -1).size() == 0);
  CHECK(arange(3, f32).dtype() == f32);
  CHECK(arange(0, 6, 2, bf16).to_vector<bfloat16_t>()[2].bits == bfloat16_t(4.0f).bits);
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                         highest = std::numeric_limits<std::int64_t>::max();
  CHECK(arange(lowest, highest, highest).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{lowest, -1, highest - 1});
  CHECK(arange(5, 3, lowest).to_vector<std::int64_t>() == std::vector<std::int64_t>{5});
  CHECK_THROWS_AS(arange(lowest, highest), ShapeError);
  CHECK_THROWS_AS(arange(0, 5, 0), ValueError);
  CHECK_THROWS_AS(arange(5, boolean), DTypeError);
}

TEST_CASE("linspace includes both ends") {
  CHECK(near(linspace(0, 1, 5), {0, 0.25, 0.5, 0.75, 1}));
  CHECK(numbers(linspace(3, 9, 1)) == std::vector<double>{3});
  CHECK(linspace(0, 1, 0).size() == 0);
  const std::vector<double> tenths = linspace(0, 0.7, 8, f64).to_vector<double>();
  CHECK(tenths.back() == 0.7);
}

TEST_CASE("eye has ones on the diagonal") {
  CHECK(numbers(eye(2)) == std::vector<double>{1, 0, 0, 1});
  CHECK(numbers(eye(2, 3, int32)) == std::vector<double>{1, 0, 0, 0, 1, 0});
}

TEST_CASE("the number of elements must fill the shape") {
  CHECK_THROWS_WITH(floats({1, 2, 3}, {2, 2}), Catch::Matchers::ContainsSubstring("has 4"));
  CHECK_THROWS_AS(zeros({-1}), ShapeError);
  CHECK_THROWS_AS(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}), ShapeError);
}

TEST_CASE("a program takes generators in as nodes and memory as inputs") {
  const Tensor generated = zeros({3}), counted = arange(3, f32), stored = floats({1, 2, 3});
  const auto body = [&](std::span<const frontend::Argument> x) {
    return std::vector<Tensor>{std::get<Tensor>(x[0]) + generated + counted + stored};
  };
  const std::vector<frontend::Argument> arguments{TensorSpec{f32, {3}}};
  const frontend::Captured captured = frontend::capture("f", body, arguments);
  REQUIRE(captured.slots.size() == 2);
  CHECK(captured.slots[0].kind == frontend::SlotKind::argument);
  CHECK(captured.slots[1].kind == frontend::SlotKind::bound);
  CHECK(captured.slots[1].bound.impl() == stored.impl());
}
