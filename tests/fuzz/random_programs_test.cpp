// Programs made from random graphs, against the reference, against eager, and against themselves. A failure
// prints the smallest graph that still fails, in the text form that `sinter run` reads.
#include "frontend/eager.h"
#include "ir/rewrite.h"
#include "tests/fuzz/check_seeds.h"
#include "tests/support/compare.h"
#include "tests/support/error_bounds.h"
#include "tests/support/run_program.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// What is wrong with the graph's program in a mode, or "".
std::string off_reference(const ir::Graph& g, std::uint64_t seed, Numerics numerics) {
  const std::vector<ir::Array> inputs = random_inputs(g, seed);
  runtime::ProgramOptions options;
  options.numerics = numerics;
  return mismatch(run_program(ir::without_dead_nodes(g), inputs, options), evaluate_bounded(g, inputs));
}

std::string off_eager(const ir::Graph& g, std::uint64_t seed) {
  const std::vector<ir::Array> inputs = random_inputs(g, seed);
  std::vector<Tensor> tensors;
  for (const ir::Array& a : inputs) tensors.push_back(frontend::from_view(view_of(a)));
  runtime::ProgramOptions options;
  options.numerics = Numerics::strict;
  const std::vector<ir::Array> fused = run_program(ir::without_dead_nodes(g), inputs, options);
  const std::vector<Tensor> eager = frontend::run_eagerly(g, tensors);
  for (std::size_t i = 0; i < fused.size(); ++i)
    if (std::string text = mismatch_in_bits(fused[i], array_of(frontend::view_of(eager[i]))); !text.empty())
      return "output " + std::to_string(i) + ": " + text;
  return "";
}

/// As many seeds as time allows: a GPU's compiler takes its time over each of so many kernels.
std::uint64_t end_of_seeds(std::uint64_t from, std::uint64_t to) {
  return program_runner().device->is_cpu() ? to : from + (to - from) / 5;
}

}  // namespace

TEST_CASE("standard programs hold the bounds of the reference: seeds from 0") {
  check_seeds(0, end_of_seeds(0, 150), [](const ir::Graph& g, std::uint64_t seed) {
    return off_reference(g, seed, Numerics::standard);
  });
}

TEST_CASE("standard programs hold the bounds of the reference: seeds from 150") {
  check_seeds(150, end_of_seeds(150, 300), [](const ir::Graph& g, std::uint64_t seed) {
    return off_reference(g, seed, Numerics::standard);
  });
}

TEST_CASE("strict programs are eager bit for bit: seeds from 1000") {
  check_seeds(1000, end_of_seeds(1000, 1250), off_eager);
}
TEST_CASE("strict programs are eager bit for bit: seeds from 1250") {
  check_seeds(1250, end_of_seeds(1250, 1500), off_eager);
}
TEST_CASE("strict programs are eager bit for bit: seeds from 1500") {
  check_seeds(1500, end_of_seeds(1500, 1750), off_eager);
}
TEST_CASE("strict programs are eager bit for bit: seeds from 1750") {
  check_seeds(1750, end_of_seeds(1750, 2000), off_eager);
}
