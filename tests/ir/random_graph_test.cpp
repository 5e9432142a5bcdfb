// Random graphs: print and parse, verify, and both evaluators against each other.
#include "tests/support/random_graph.h"

#include <string>

#include "ir/evaluate_reference.h"
#include "ir/evaluate_typed.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "tests/catch.h"
#include "tests/support/compare.h"
#include "tests/support/error_bounds.h"

using namespace sinter;
using namespace sinter::ir;
using namespace sinter::testing;

namespace {

bool same_nodes(const Graph& a, const Graph& b) {
  if (a.size() != b.size() || a.outputs().size() != b.outputs().size()) return false;
  for (std::uint32_t id = 0; id < a.size(); ++id) {
    const Value v{id};
    if (a.op(v) != b.op(v) || !(a.attrs(v) == b.attrs(v)) ||
        !std::ranges::equal(a.operands(v), b.operands(v)))
      return false;
  }
  return true;
}

/// What the typed evaluator is off by, or "".
std::string typed_mismatch(const Graph& g, std::uint64_t seed, double special) {
  const std::vector<Array> inputs = random_inputs(g, seed, special);
  return mismatch(evaluate_typed(g, inputs), evaluate_bounded(g, inputs));
}

}  // namespace

TEST_CASE("random graphs parse to the same graph as was printed") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph g = random_graph(seed);
    const std::string text = print(g);
    const Graph back = parse(text);
    INFO("seed " << seed << "\n" << text);
    REQUIRE(same_nodes(g, back));
    REQUIRE(print(back) == text);
  }
}

TEST_CASE("the evaluators agree on random graphs within what rounding explains") {
  double covered = 0;
  const int graphs = 300;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const Graph g = random_graph(seed);
    const double special = seed % 2 ? 0.1 : 0;
    covered += decided(evaluate_bounded(g, random_inputs(g, seed, special)));
    if (const std::string off = typed_mismatch(g, seed, special); !off.empty()) {
      const Graph small =
          minimize(g, [&](const Graph& h) { return !typed_mismatch(h, seed, special).empty(); });
      FAIL("seed " << seed << ": " << off << "\n" << print(small) << typed_mismatch(small, seed, special));
    }
  }
  CHECK(covered / graphs > 0.5);
}

TEST_CASE("the evaluators agree in bits on exact operations of f64's inputs in f32") {
  RandomGraphOptions options;
  options.exact_only = true;
  options.dtypes = {f32, int32, boolean};
  options.families = {Family::elementwise, Family::movement, Family::gather};
  options.nodes = 1;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph g = random_graph(seed, options);
    const std::vector<Array> inputs = random_inputs(g, seed, 0.3);
    const std::vector<Array> typed = evaluate_typed(g, inputs);
    const std::vector<Exact> exact = evaluate_reference(g, inputs);
    INFO("seed " << seed << "\n" << print(g));
    for (std::size_t i = 0; i < typed.size(); ++i)
      CHECK(mismatch_in_bits(typed[i], exact[i].rounded()) == "");
  }
}

TEST_CASE("a failing graph shrinks to the node that fails") {
  const auto has_tanh = [](const Graph& g) {
    for (std::uint32_t id = 0; id < g.size(); ++id)
      if (g.op(Value{id}) == Op::tanh && !g.shape(Value{id}).is_empty()) return true;
    return false;
  };
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 200 && seen < 5; ++seed) {
    const Graph g = random_graph(seed, {.nodes = 40});
    if (!has_tanh(minimize(g, [](const Graph&) { return false; }))) continue;  // not live
    ++seen;
    const Graph small = minimize(g, has_tanh);
    INFO(print(small));
    CHECK(small.size() <= 2);
    verify(small);
  }
  CHECK(seen == 5);
}

TEST_CASE("comparison tells class before number, and says where, what and how far") {
  const Graph g = parse("graph @g(%x: f32[2, 2]) { return %x }");
  Array x(f32, {2, 2});
  x.set(3, Scalar::from_real(f32, 1.0L));
  const Exact expected = evaluate_reference(g, std::vector<Array>{x})[0];
  CHECK(mismatch(x, expected) == "");
  Array off = x;
  off.set(3, Scalar::from_real(f32, 1 + 0x1p-22L));
  CHECK(mismatch(off, expected) ==
        "at [1, 1]: got 1.0000002, expected 1.0 (1), off by 2 ulp, allowed 0 ulp + 0");
  CHECK(mismatch(off, expected, {.ulps = 2}) == "");
  off.set(0, Scalar::from_real(f32, std::numeric_limits<double>::quiet_NaN()));
  CHECK(mismatch(off, expected, {.ulps = 1e30}).starts_with("at [0, 0]: got nan, expected 0.0"));
  Array minus = x;
  minus.set(0, Scalar::from_real(f32, -0.0L));
  CHECK(mismatch(minus, expected) == "");
  CHECK(mismatch(minus, expected, {.signed_zeros = true}) != "");
  CHECK(mismatch(Array(f32, {4}), expected) == "got f32[4], expected f32[2, 2]");
}
