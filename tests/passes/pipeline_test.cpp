#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/rewrite.h"
#include "tests/catch.h"
#include "tests/passes/expect_text.h"
#include "tests/support/sandbox.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Value;
using testing::normal_form;
using testing::ScopedEnvironment;

std::string optimized(std::string_view text, Numerics numerics = Numerics::standard) {
  return normal_form(optimize(ir::parse(text), {numerics}));
}

TEST_CASE("gelu in bf16 becomes a chain in f32 with contracted products and one power of 2") {
  CHECK(optimized(R"(graph @gelu(%x: bf16[M, 64]) {
    %cube = mul(mul(mul(%x, 0.044677734375), %x), %x)
    %t = tanh(mul(add(%x, %cube), 0.796875))
    return mul(mul(%x, 0.5), add(1, %t))
  })") == normal_form(R"(graph @gelu(%x: bf16[M, 64]) {
    %w = cast(%x, dtype=f32)
    %inner = fma(mul(mul(%w, 0.044677734375), %w), %w, %w)
    %gate = div(2, add(exp2(mul(%inner, -2.29929519)), 1))
    return cast(mul(mul(%w, 0.5), %gate), dtype=bf16)
  })"));
}

TEST_CASE("1 + tanh stays what it is where the result is f32 or a comparison sees it") {
  const std::string text = testing::returning("%x: f32[4]", "add(tanh(%x), 1)");
  CHECK(optimized(text) == normal_form(text));
  CHECK(optimized(R"(graph @g(%x: bf16[4]) {
    %t = add(tanh(%x), 1)
    return %t, cast(add(tanh(cast(%x, dtype=f32)), 1), dtype=f32)
  })")
            .find("tanh") != std::string::npos);
  const std::string strict = R"(graph @g(%x: bf16[4]) {
    return add(tanh(%x), 1)
  })";
  CHECK(optimized(strict, Numerics::strict).find("tanh") != std::string::npos);
  CHECK(optimized(strict).find("tanh") == std::string::npos);
}

TEST_CASE("softmax in f32 is left as it is written, but for the scalars") {
  const std::string_view text = R"(graph @softmax(%x: f32[8, 64]) {
    %e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))
    return div(%e, sum(%e, axes=[1], keepdims=true))
  })";
  for (Numerics numerics : {Numerics::strict, Numerics::standard})
    CHECK(optimized(text, numerics) == normal_form(text));
}

TEST_CASE("what one pass lays open the others take up") {
  // The mean's division becomes a product with an exact reciprocal, folded; both sums become one.
  CHECK(optimized(R"(graph @g(%x: f32[8, 64]) {
    %a = div(reshape(sum(%x, axes=[1]), shape=[8, 1]), 64)
    %b = mul(sum(%x, axes=[1], keepdims=true), reciprocal(f32(64)))
    return add(%a, %b)
  })") == normal_form(R"(graph @g(%x: f32[8, 64]) {
    %m = mul(sum(%x, axes=[1], keepdims=true), 0.015625)
    return add(%m, %m)
  })"));
}

TEST_CASE("names, inputs, facts, outputs and lines are kept") {
  Graph g =
      ir::parse(R"(graph @"a name"(%x: f32[M], %unused: bf16[3], %x~2: f32[M]) where M % 8 == 0, M >= 8 {
    return first=neg(neg(%x)), %x, again=%x~2
  })");
  const Graph result = optimize(g, {});
  CHECK(result.name() == "a name");
  CHECK(result.facts() == g.facts());
  REQUIRE(result.inputs().size() == 3);
  CHECK(result.attrs(result.inputs()[1]).name == "unused");
  REQUIRE(result.outputs().size() == 3);
  CHECK(result.outputs()[0].name == "first");
  CHECK(result.outputs()[0].value == result.outputs()[1].value);
  CHECK(result.outputs()[2].name == "again");
  CHECK(result.outputs()[2].value == result.inputs()[2]);

  Graph h("h");
  const Value x = h.input("x", f32, {4});
  const auto here = std::source_location::current();
  h.output(h.add(Op::exp, {&x, 1}, {}, here));
  const Graph kept = optimize(h, {});
  CHECK(kept[kept.outputs()[0].value].location.line() == here.line());
}

TEST_CASE("a pass is left out when SINTER_DISABLE_PASSES names it") {
  const std::string text = testing::returning("%x: f32[4], %y: f32[4]", "add(mul(neg(neg(%x)), %y), 1)");
  const ScopedEnvironment environment{{"SINTER_DISABLE_PASSES", "contract, simplify"}};
  CHECK(optimized(text) == normal_form(text));
}

TEST_CASE("an unknown name in SINTER_DISABLE_PASSES is an error that lists the passes") {
  const ScopedEnvironment environment{{"SINTER_DISABLE_PASSES", "contracts"}};
  CHECK_THROWS_WITH(
      optimized(testing::returning("%x: f32[4]", "%x")),
      "SINTER_DISABLE_PASSES: no pass is named contracts; there are lower_products, "
      "lower_scatters, merge_equal, simplify, fold_constants, precision, contract, sink_reshapes, "
      "join_bias, copy_operands");
}

TEST_CASE("the trace says what each pass did") {
  PassTrace trace;
  optimize(ir::parse(testing::returning("%x: f32[4]", "exp(neg(neg(%x)))")), {}, &trace);
  REQUIRE(trace.size() >= 5);
  CHECK(trace[0].name == "merge_equal");
  CHECK_FALSE(trace[0].changed);
  CHECK(trace[1].name == "simplify");
  CHECK(trace[1].changed);
  CHECK(trace[1].nodes_before == 4);
  CHECK(trace[1].nodes_after == 2);
  CHECK(trace[trace.size() - 3].name == "contract");
}

TEST_CASE("SINTER_LOG=graph reports every pass") {
  const ScopedEnvironment environment{{"SINTER_LOG", "graph"}};
  testing::CapturedLog log;
  optimize(ir::parse(testing::returning("%x: f32[4]", "exp(neg(neg(%x)))")), {});
  CHECK(log.text().find("g: simplify: 4 nodes become 2") != std::string::npos);
  CHECK(log.text().find("g: contract: unchanged") != std::string::npos);
}

TEST_CASE("SINTER_DUMP writes the graph after each pass that changed it, and nothing outside the directory") {
  const testing::TemporaryDirectory directory;
  const ScopedEnvironment environment{{"SINTER_DUMP", directory / "inner/dump"}};
  Graph g("../../x\n*/");
  const Value x = g.input("x", bf16, {4});
  g.output(g.add(Op::exp, {&x, 1}));
  optimize(g, {});
  CHECK(directory.names() == std::vector<std::string>{"inner"});
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "inner/dump"))
    files.push_back(entry.path().filename());
  std::ranges::sort(files);
  REQUIRE(files.size() == 2);
  CHECK(files[0].ends_with("______x____00_captured.txt"));
  CHECK(files[1].ends_with("______x____01_precision.txt"));
  std::ifstream file(directory / "inner/dump/" + files[1]);
  std::stringstream text;
  text << file.rdbuf();
  CHECK(normal_form(ir::parse(text.str())) == normal_form(optimize(g, {})));
}

double milliseconds(const Graph& g, Numerics numerics = Numerics::standard) {
  const auto start = std::chrono::steady_clock::now();
  optimize(g, {numerics});
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// A chain of n operations, none of which a rule removes.
Graph chain(int n, DType t) {
  Graph g("chain");
  Value v = g.input("x", t, {4});
  const Value constant = g.constant(ir::Scalar::from_real(t, 1.25));
  for (int i = 0; i < n; ++i) {
    const Value operands[] = {v, constant};
    v = i % 3 == 2 ? g.add(Op::tanh, {&v, 1}) : g.add(i % 3 == 1 ? Op::add : Op::mul, operands);
  }
  g.output(v);
  return g;
}

TEST_CASE("a chain of a million operations goes through all passes, in linear time") {
  const ScopedEnvironment environment{{"SINTER_DEBUG_VERIFY", "0"}};
  CHECK(milliseconds(chain(100'000, f32)) < 4000);  // a quarter of this on an idle machine
  CHECK(milliseconds(chain(100'000, bf16)) < 8000);
  CHECK(milliseconds(chain(1'000'000, f32)) < 60'000);
}

TEST_CASE("values used twice at every level do not blow up") {
  const ScopedEnvironment environment{{"SINTER_DEBUG_VERIFY", "0"}};
  for (DType t : {f32, bf16}) {
    Graph nested("nested");
    Value v = nested.input("x", t, {4});
    for (int i = 0; i < 32; ++i) {
      const Value operands[] = {nested.add(Op::sin, {&v, 1}), nested.add(Op::cos, {&v, 1})};
      v = nested.add(Op::add, operands);
    }
    nested.output(v);
    CHECK(optimize(nested, {}).size() <= nested.size() + 2);

    Graph fibonacci("fibonacci");
    Value a = fibonacci.input("a", t, {4}), b = fibonacci.input("b", t, {4});
    for (int i = 0; i < 10'000; ++i) {
      const Value operands[] = {a, b};
      a = std::exchange(b, fibonacci.add(i % 2 ? Op::add : Op::mul, operands));
    }
    fibonacci.output(b);
    CHECK(milliseconds(fibonacci) < 4000);
  }
}

TEST_CASE("a chain that rules fold up level by level is done in linear time") {
  const ScopedEnvironment environment{{"SINTER_DEBUG_VERIFY", "0"}};
  Graph g("folded");
  const Value x = g.input("x", int32, {4});
  const Value one = g.constant(ir::Scalar::from_whole(int32, 1));
  Value v = x;
  for (int i = 0; i < 50'000; ++i) {
    const Value operands[] = {v, one};
    v = g.add(Op::add, operands);
  }
  g.output(v);
  CHECK(milliseconds(g) < 8000);
}

}  // namespace
}  // namespace sinter::passes
