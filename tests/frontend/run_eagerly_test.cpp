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
