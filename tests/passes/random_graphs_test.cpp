// All passes together on random graphs: the evaluators say whether the optimised graph is equivalent.
#include <cmath>

#include "ir/evaluate_typed.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "passes/pipeline.h"
#include "passes/precision.h"
#include "tests/catch.h"
#include "tests/support/compare.h"
#include "tests/support/error_bounds.h"
#include "tests/support/random_graph.h"

namespace sinter::passes {
namespace {

using ir::Array;
using ir::Graph;

/// Runs `check` (which gives "" or what is wrong) on graphs of many seeds; reports a small graph that fails.
template <class Check>
void on_random_graphs(std::uint64_t seeds, const testing::RandomGraphOptions& options, Check check) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Graph g = testing::random_graph(seed, options);
    const std::string wrong = check(g, seed);
    if (wrong.empty()) continue;
    const Graph small = testing::minimize(g, [&](const Graph& h) { return !check(h, seed).empty(); });
    FAIL("seed " << seed << ": " << check(small, seed) << "\n" << ir::print(small));
  }
}

testing::RandomGraphOptions mixed(int nodes) {
  return {.nodes = nodes, .elements = 512};
}

testing::RandomGraphOptions narrow(int nodes) {
  return {.nodes = nodes, .elements = 512, .dtypes = {bf16, f16, f32, boolean, int32}};
}

std::string differs_in_bits(const Graph& g, std::uint64_t seed) {
  const std::vector<Array> inputs = testing::random_inputs(g, seed, 0.1);
  const std::vector<Array> before = ir::evaluate_typed(g, inputs);
  const std::vector<Array> after = ir::evaluate_typed(optimize(g, {Numerics::strict}), inputs);
  for (std::size_t i = 0; i < before.size(); ++i)
    if (std::string text = testing::mismatch_in_bits(after[i], before[i]); !text.empty()) return text;
  return "";
}

TEST_CASE("strict gives the same bits as one operation at a time") {
  on_random_graphs(600, mixed(20), differs_in_bits);
  on_random_graphs(600, narrow(20), differs_in_bits);
}

/// What is wrong with the optimised graph's results, as far as one operation at a time gives right ones.
std::string exceeds_bounds(const Graph& g, Numerics numerics, const std::vector<Array>& inputs) {
  const auto bounds = testing::evaluate_bounded(g, inputs);
  const std::string wrong = testing::mismatch(ir::evaluate_typed(optimize(g, {numerics}), inputs), bounds);
  return testing::mismatch(ir::evaluate_typed(g, inputs), bounds).empty() ? wrong : "";
}

TEST_CASE("standard stays within the error of rounding at every operation") {
  const auto check = [](const Graph& g, std::uint64_t seed) {
    return exceeds_bounds(g, Numerics::standard, testing::random_inputs(g, seed, 0.1));
  };
  on_random_graphs(200, mixed(15), check);
  on_random_graphs(200, narrow(15), check);
}

bool every_value_is_finite(const Graph& g, const std::vector<Array>& inputs) {
  Graph all = ir::without_dead_nodes(g);
  for (std::uint32_t id = 0; id < all.size(); ++id) all.output(ir::Value{id});
  for (const Array& a : ir::evaluate_typed(all, inputs))
    for (std::int64_t i = 0; i < a.elements(); ++i)
      if (!std::isfinite(a.at(i).real())) return false;
  return true;
}

TEST_CASE("fast stays within that error where every value is finite") {
  int compared = 0;
  on_random_graphs(400, mixed(8), [&](const Graph& g, std::uint64_t seed) -> std::string {
    const std::vector<Array> inputs = testing::random_inputs(g, seed, 0);
    if (!every_value_is_finite(g, inputs)) return "";
    ++compared;
    return exceeds_bounds(g, Numerics::fast, inputs);
  });
  CHECK(compared > 100);
}

TEST_CASE("an optimised graph has its precision decided, and optimising it again changes nothing") {
  for (Numerics numerics : {Numerics::strict, Numerics::standard, Numerics::fast})
    on_random_graphs(400, mixed(30), [&](const Graph& g, std::uint64_t) -> std::string {
      const Graph once = optimize(g, {numerics}), twice = optimize(once, {numerics});
      if (!precision_is_decided(once)) return "something computes in 16 bits: " + ir::print(once);
      if (!ir::equal(once, twice)) return "once: " + ir::print(once) + "twice: " + ir::print(twice);
      return "";
    });
}

}  // namespace
}  // namespace sinter::passes
