// A graph run node by node, against the reference evaluator.
#include "frontend/eager.h"
#include "ir/build.h"
#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// y = sum(exp(x * 2), axis 1), and x turned around, over f32[M, 3].
ir::Graph example() {
  ir::Graph g("example");
  const ir::Value x = g.input("x", f32, ir::Shape{ir::Dim::symbol("M"), 3});
  const ir::Operand product[] = {x, ir::Literal{2.0}};
  const ir::Operand scaled[] = {ir::elementwise(g, ir::Op::mul, product)};
  const ir::Value e = ir::elementwise(g, ir::Op::exp, scaled);
  g.output(ir::reduce(g, ir::Op::sum, e, std::vector<std::int64_t>{1}, false), "y");
  g.output(ir::permute_dims(g, x, {1, 0}), "turned");
  return g;
}

}  // namespace

TEST_CASE("a graph with symbols runs node by node on tensors of any length") {
  const ir::Graph g = example();
  const Tensor x = floats({0, 0, 0, 1, 0, -1}, {2, 3});
  const std::vector<Tensor> results = frontend::run_eagerly(g, std::vector<Tensor>{x});
  REQUIRE(results.size() == 2);
  CHECK(near(results[0], {3, 7.389056099 + 1 + 0.135335283}));
  CHECK(results[1].data() == x.data());
  CHECK(numbers(frontend::run_eagerly(g, std::vector<Tensor>{ones({5, 3})})[1]).size() == 15);
}

TEST_CASE("a graph of constants, generators and inputs as outputs runs") {
  ir::Graph g("ends");
  const ir::Value x = g.input("x", int64, ir::Shape{2});
  g.output(x);
  g.output(g.constant(ir::Scalar::from_whole(int32, 7)));
  g.output(ir::iota(g, ir::Shape{3}, 0, f32));
  g.output(x);
  const std::vector<Tensor> results = frontend::run_eagerly(g, std::vector<Tensor>{ints({4, 5})});
  CHECK(numbers(results[0]) == std::vector<double>{4, 5});
  CHECK(results[1].item<int>() == 7);
  CHECK(numbers(results[2]) == std::vector<double>{0, 1, 2});
  CHECK(numbers(results[3]) == std::vector<double>{4, 5});
}

TEST_CASE("inputs that are not those of the graph are refused") {
  const ir::Graph g = example();
  CHECK_THROWS_AS(frontend::run_eagerly(g, std::vector<Tensor>{}), ValueError);
  CHECK_THROWS_AS(frontend::run_eagerly(g, std::vector<Tensor>{ones({2, 3}, f64)}), DTypeError);
  CHECK_THROWS_AS(frontend::run_eagerly(g, std::vector<Tensor>{ones({2, 4})}), ShapeError);
  CHECK_THROWS_AS(frontend::run_eagerly(g, std::vector<Tensor>{ones({3})}), ShapeError);
}

TEST_CASE("an operation that ran before is told from its likes") {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2}), y = floats({5, 6, 7, 8}, {2, 2});
  for (int round = 0; round < 3; ++round) {
    CHECK(numbers(x * 2.0) == std::vector<double>{2, 4, 6, 8});
    CHECK(numbers(x * 3.0) == std::vector<double>{3, 6, 9, 12});
    CHECK(numbers(2.0 - x) == std::vector<double>{1, 0, -1, -2});
    CHECK(numbers(x - 2.0) == std::vector<double>{-1, 0, 1, 2});
    CHECK(numbers(x - x) == std::vector<double>{0, 0, 0, 0});
    CHECK(numbers(x - y) == std::vector<double>{-4, -4, -4, -4});
    CHECK(numbers(y - x) == std::vector<double>{4, 4, 4, 4});
    CHECK(numbers(x - permute_dims(y, {1, 0})) == std::vector<double>{-4, -5, -3, -4});
    CHECK(numbers(x - slice(y, {{0, 1}})) == std::vector<double>{-4, -4, -2, -2});
    CHECK((x * 2).dtype() == f32);
    CHECK((ints({1}) * 2).dtype() == int64);
    CHECK((ints({1}) * true).dtype() == int64);
    CHECK((ints({1}) * 2.0).dtype() == f32);
    CHECK(numbers(sum(x)) == std::vector<double>{10});
    CHECK(numbers(sum(x, {.axes = 0})) == std::vector<double>{4, 6});
    CHECK(numbers(sum(x, {.axes = 1})) == std::vector<double>{3, 7});
    CHECK(sum(x, {.axes = 1, .keepdims = true}).shape() == Shape{2, 1});
    CHECK(sum(x, {.axes = 1, .dtype = f64}).dtype() == f64);
    CHECK(numbers(max(x, {.axes = 1})) == std::vector<double>{2, 4});
    CHECK(x.astype(int32).dtype() == int32);
    CHECK(x.astype(f64).dtype() == f64);
    CHECK(numbers(x + ones({2, 2})) == std::vector<double>{2, 3, 4, 5});
    CHECK(numbers(x + full({2, 2}, round)) ==
          std::vector<double>{1. + round, 2. + round, 3. + round, 4. + round});
  }
}
