// Functions in the form of a graph, read from text or recorded from C++.
#include "sinter/graph_function.h"

#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const GraphFunction& rows_over_sum() {
  static const GraphFunction f = GraphFunction::parse(
      "graph @rows(%x: f32[M, N], %scale: f32[N]) where M >= 1 {\n"
      "  %0 = mul(%x, %scale)\n  %1 = sum(%0, axes=[1], keepdims=true)\n  %2 = div(%0, %1)\n"
      "  return %2, total=%1\n}\n");
  return f;
}

std::vector<Tensor> pair_of_inputs() {
  return {floats({1, 2, 3, 4, 5, 6}, {2, 3}), floats({1, 1, 2})};
}

void check_rows(const std::vector<Tensor>& outputs) {
  REQUIRE(outputs.size() == 2);
  CHECK(allclose(outputs[0], floats({1. / 9, 2. / 9, 6. / 9, 4. / 21, 5. / 21, 12. / 21}, {2, 3})));
  CHECK(array_equal(outputs[1], floats({9, 21}, {2, 1})));
}

}  // namespace

TEST_CASE("a function can be used after it was moved from") {
  GraphFunction f = rows_over_sum();
  const GraphFunction g = std::move(f);
  CHECK(f.name() == "rows");
  CHECK(f.text() == g.text());
  check_rows(f(pair_of_inputs()));
}

TEST_CASE("a function read from text says what it takes and gives") {
  const GraphFunction& f = rows_over_sum();
  CHECK(f.name() == "rows");
  const std::vector<GraphInput> inputs = f.inputs();
  REQUIRE(inputs.size() == 2);
  CHECK(inputs[1].name == "scale");
  CHECK(inputs[0].spec.dtype == f32);
  REQUIRE(inputs[0].spec.shape.size() == 2);
  CHECK(std::get<std::string>(inputs[0].spec.shape[1].value()) == "N");
  CHECK(f.outputs() == std::vector<std::string>{"out0", "total"});
  CHECK(f.symbols() == std::vector<std::string>{"M", "N"});
  CHECK(GraphFunction::parse(f.text()).text() == f.text());
}

TEST_CASE("a function read from text runs eagerly, compiled, and through both evaluators") {
  const GraphFunction& f = rows_over_sum();
  check_rows(f(pair_of_inputs()));
  const auto compiled = compile(f);
  check_rows(compiled(pair_of_inputs()));
  CHECK(compiled.programs().front().launches() == 1);
  check_rows(f.evaluate(pair_of_inputs(), Evaluator::reference));
  check_rows(f.evaluate(pair_of_inputs(), Evaluator::typed));
}

TEST_CASE("a function read from text may be part of another function") {
  const auto outer = compile([](Tensor x, Tensor scale) {
    return rows_over_sum()({x + 1.0, scale})[1] * 2.0;
  });
  const std::vector<Tensor> in = pair_of_inputs();
  CHECK(array_equal(outer(in[0], in[1]), floats({26, 50}, {2, 1})));
}

TEST_CASE("lengths are given by name") {
  const GraphFunction bound = rows_over_sum().bind({{"M", 2}});
  CHECK(bound.symbols() == std::vector<std::string>{"N"});
  check_rows(bound(pair_of_inputs()));
  CHECK_THROWS_AS(rows_over_sum().bind({{"K", 2}}), ValueError);
  CHECK_THROWS_AS(rows_over_sum().bind({{"M", 0}}), ValueError);
  CHECK(rows_over_sum().lower().launches() == 1);
  CHECK_THAT(bound.lower(Target("sm_90a")).source(), ContainsSubstring("__global__"));
}

TEST_CASE("lengths that are formulas say what their symbols are") {
  const GraphFunction f = GraphFunction::parse(
      "graph @pairs(%x: f32[2*M, 3], %y: f32[2*M*N + 1]) {\n  return sum(%x, axes=[1]), %y\n}\n");
  CHECK(f({ones({4, 3}), ones({13})})[0].shape() == Shape{4});
  CHECK(compile(f)(std::vector{ones({4, 3}), ones({13})})[1].shape() == Shape{13});
  CHECK_THROWS_AS(f({ones({5, 3}), ones({13})}), ShapeError);
  CHECK_THROWS_AS(f({ones({4, 3}), ones({12})}), ShapeError);
}

TEST_CASE("no length is negative") {
  CHECK_THROWS_AS(GraphFunction::parse("graph @f(%x: f32[-2]) {\n  return %x\n}\n"), Error);
  const GraphFunction f = GraphFunction::parse("graph @f(%x: f32[M - 5]) {\n  return neg(%x)\n}\n");
  CHECK_THROWS_AS(f.bind({{"M", 3}}), ShapeError);
  CHECK(f.bind({{"M", 5}}).symbols().empty());
}

TEST_CASE("tensors that are not those of the graph are refused") {
  const GraphFunction& f = rows_over_sum();
  const std::vector<Tensor> in = pair_of_inputs();
  CHECK_THROWS_AS(f({in[0]}), ValueError);
  CHECK_THROWS_AS(f({in[0], in[1].astype(bf16)}), DTypeError);
  CHECK_THROWS_AS(f({in[0], in[0]}), ShapeError);
  CHECK_THROWS_AS(f.evaluate({in[0], floats({1, 2})}, Evaluator::typed), ShapeError);
  CHECK_THROWS_AS(compile(f)(std::vector{in[0], floats({1, 2})}), ShapeError);
}

TEST_CASE("a formula is recorded with names for its inputs") {
  const GraphFunction f =
      GraphFunction::record("pick", {{"table", {f32, {"V", 8}}}, {"word", {int64, {"T"}}}},
                            [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
                              return {take(x[0], reshape(x[1], {-1, 1}), 0)};
                            });
  CHECK(f.inputs()[0].name == "table");
  REQUIRE(f.inputs()[1].index_range);
  CHECK(std::get<std::string>(f.inputs()[1].index_range->value()) == "V");
  CHECK_FALSE(f.inputs()[0].index_range);
  CHECK(f({zeros({3, 8}), ints({2, 0})})[0].shape() == Shape{2, 1, 8});

  const GraphFunction back = GraphFunction::record(
      "put", {{"rows", {f32, {"T", 8}}}, {"word", {int64, {"T"}}}},
      [](const std::vector<Tensor>& x) -> std::vector<Tensor> { return {scatter_add(x[0], x[1], 5)}; });
  REQUIRE(back.inputs()[1].index_range);
  CHECK(std::get<std::int64_t>(back.inputs()[1].index_range->value()) == 5);
}

TEST_CASE("what is no function of its inputs cannot be recorded") {
  const std::vector<GraphInput> inputs{{"x", {f32, {2}}}};
  CHECK_THROWS_AS(GraphFunction::record("nothing", inputs, {}), ValueError);
  const Tensor outside = floats({1, 2});
  CHECK_THROWS_AS(GraphFunction::record("closes_over", inputs,
                                        [&](const auto& x) { return std::vector{x[0] + outside}; }),
                  UnsupportedError);
  CHECK_THROWS_AS(
      GraphFunction::record("draws", inputs, [&](const auto& x) { return std::vector{x[0] + rand({2})}; }),
      UnsupportedError);
}

TEST_CASE("text that does not parse is shown with its file and line") {
  CHECK_THROWS_WITH(GraphFunction::parse("graph @f(%x: f32[2]) {\n  return %y\n}", "here.graph"),
                    ContainsSubstring("here.graph:2:"));
}
