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
