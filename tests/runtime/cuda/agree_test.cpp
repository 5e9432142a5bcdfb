// The CPU and a GPU give the same bits where docs/numerics.md says so: elementwise graphs of f32 in strict
// mode.
#include <fmt/format.h>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "sinter/error.h"
#include "tests/fuzz/check_seeds.h"
#include "tests/program/check.h"
#include "tests/support/gpu.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

std::vector<ir::Array> run_on(runtime::Device& device, const ir::Graph& g,
                              const std::vector<ir::Array>& inputs) {
  const RunsOn here(device);
  return run_program(ir::without_dead_nodes(g), inputs, in_mode(Numerics::strict));
}

std::string disagreement(runtime::Device& gpu, const ir::Graph& g, const std::vector<ir::Array>& inputs) {
  const std::vector<ir::Array> there = run_on(gpu, g, inputs),
                               here = run_on(runtime::cpu_device(), g, inputs);
  for (std::size_t i = 0; i < here.size(); ++i)
    if (std::string text = mismatch_in_bits(there[i], here[i]); !text.empty())
      return fmt::format("output {}: {}", i, text);
  return "";
}

/// Whether an op looks at the sign of NaN, which docs/numerics.md leaves to the processor.
bool looks_at_signs(const ir::Graph& g) {
  for (std::uint32_t id = 0; id < g.size(); ++id)
    if (g.op({id}) == ir::Op::copysign) return true;
  return false;
}

}  // namespace

TEST_CASE("random elementwise graphs of f32 are equal bit for bit on the CPU and a GPU") {
  runtime::Device& gpu = need_gpu();
  RandomGraphOptions options;
  options.nodes = 12;
  options.dtypes = {f32};
  options.families = {ir::Family::elementwise};
  check_seeds(3000, 3150, options, [&](const ir::Graph& g, std::uint64_t seed) {
    return looks_at_signs(g) ? "" : disagreement(gpu, g, random_inputs(g, seed));
  });
}

TEST_CASE("every elementwise op of f32 is equal bit for bit on the CPU and a GPU") {
  runtime::Device& gpu = need_gpu();
  constexpr std::int64_t n = 1 << 20;
  for (const ir::Op op : ir::all_ops) {
    if (!ir::is_elementwise(op) || op == ir::Op::cast) continue;
    ir::Graph g("one_op");
    std::vector<ir::Operand> operands;
    for (int i = 0; i < ir::elementwise_info(op).arity; ++i)
      operands.push_back(g.input(fmt::format("x{}", i), f32, ir::Shape{n}));
    try {
      g.output(ir::elementwise(g, op, operands));
    } catch (const DTypeError&) {
      continue;  // not one of f32
    }
    INFO(ir::name(op));
    CHECK(disagreement(gpu, g, random_inputs(g, 5, 0.1)) == "");
  }
}
