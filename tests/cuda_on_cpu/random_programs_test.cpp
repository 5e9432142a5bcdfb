// Programs made from random graphs: CUDA kernels on the simulator against the reference, and against the
// CPU's kernels.
#include "ir/rewrite.h"
#include "tests/cuda_on_cpu/run_program.h"
#include "tests/fuzz/check_seeds.h"
#include "tests/support/compare.h"
#include "tests/support/error_bounds.h"
#include "tests/support/run_program.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

std::vector<ir::Array> on_simulator(const ir::Graph& g, const std::vector<ir::Array>& inputs,
                                    Numerics numerics) {
  runtime::ProgramOptions options;
  options.numerics = numerics;
  return run_program(ir::without_dead_nodes(g), inputs, options);
}

/// What is wrong with a graph's program, or "". A fault in a kernel is wrong, too.
std::string off_reference(const ir::Graph& g, std::uint64_t seed) try {
  const std::vector<ir::Array> inputs = random_inputs(g, seed);
  return mismatch(on_simulator(g, inputs, Numerics::standard), evaluate_bounded(g, inputs));
} catch (const std::exception& e) {
  return e.what();
}

std::string off_cpu(const ir::Graph& g, std::uint64_t seed) try {
  const std::vector<ir::Array> inputs = random_inputs(g, seed);
  runtime::ProgramOptions options;
  options.numerics = Numerics::strict;
  const auto on_cpu = runtime::Program::build(ir::without_dead_nodes(g), options);
  std::vector<runtime::TensorView> views;
  for (const ir::Array& a : inputs) views.push_back(view_of(a));
  const std::vector<runtime::TensorView> expected = on_cpu->run(views);
  const std::vector<ir::Array> got = on_simulator(g, inputs, Numerics::strict);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::string text = mismatch_in_bits(got[i], array_of(expected[i])); !text.empty())
      return "output " + std::to_string(i) + ": " + text;
  return "";
} catch (const std::exception& e) {
  return e.what();
}

/// Node by node, each in a program of its own, as eager runs them.
std::vector<ir::Array> eagerly_on_simulator(const ir::Graph& g, const std::vector<ir::Array>& inputs) {
  std::vector<ir::Array> values(g.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[g.inputs()[i].id] = inputs[i];
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const ir::Value v{id};
    if (g.op(v) == ir::Op::input) continue;
    ir::Graph small("eager");
    std::vector<ir::Array> arrays;
    std::vector<ir::Value> operands;
    for (ir::Value x : g.operands(v)) {
      const bool is_literal = g.op(x) == ir::Op::constant;
      if (!is_literal) arrays.push_back(values[x.id]);
      operands.push_back(is_literal ? small.constant(g.attrs(x).value)
                                    : small.input("x", g.dtype(x), g.shape(x)));
    }
    small.output(small.add(g.op(v), operands, g.attrs(v)));
    values[id] = on_simulator(small, arrays, Numerics::strict)[0];
  }
  std::vector<ir::Array> outputs;
  for (const ir::Output& out : g.outputs()) outputs.push_back(values[out.value.id]);
  return outputs;
}

std::string off_eager(const ir::Graph& g, std::uint64_t seed) try {
  const std::vector<ir::Array> inputs = random_inputs(g, seed);
  const std::vector<ir::Array> fused = on_simulator(g, inputs, Numerics::strict);
  const std::vector<ir::Array> eager = eagerly_on_simulator(g, inputs);
  for (std::size_t i = 0; i < fused.size(); ++i)
    if (std::string text = mismatch_in_bits(fused[i], eager[i]); !text.empty())
      return "output " + std::to_string(i) + ": " + text;
  return "";
} catch (const std::exception& e) {
  return e.what();
}

/// Nothing whose result depends on the order of its steps.
RandomGraphOptions elementwise_graphs() {
  RandomGraphOptions options = small_graphs();
  options.families = {ir::Family::elementwise, ir::Family::movement, ir::Family::gather,
                      ir::Family::generator};
  return options;
}

}  // namespace

TEST_CASE("CUDA programs hold the bounds of the reference: seeds from 0") {
  check_seeds(0, 100, off_reference);
}
TEST_CASE("CUDA programs hold the bounds of the reference: seeds from 100") {
  check_seeds(100, 200, off_reference);
}
TEST_CASE("strict programs without reductions have the same bits as on the CPU: seeds from 2000") {
  check_seeds(2000, 2100, elementwise_graphs(), off_cpu);
}
TEST_CASE("strict programs without reductions have the same bits as on the CPU: seeds from 2100") {
  check_seeds(2100, 2200, elementwise_graphs(), off_cpu);
}

TEST_CASE("strict CUDA programs are eager bit for bit: seeds from 1000") {
  check_seeds(1000, 1040, off_eager);
}
TEST_CASE("strict CUDA programs are eager bit for bit: seeds from 1040") {
  check_seeds(1040, 1080, off_eager);
}
