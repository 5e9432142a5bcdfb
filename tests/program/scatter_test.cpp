// Scatters: slices added up by index, against the reference and, where that says it, bit for bit against the
// order of additions that docs/numerics.md promises.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/evaluate_typed.h"
#include "tests/program/check.h"
#include "tests/support/random.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

ir::Array indices(DType t, std::vector<std::int64_t> shape,
                  const std::function<std::int64_t(std::int64_t)>& at) {
  ir::Array array(t, std::move(shape));
  for (std::int64_t i = 0; i < array.elements(); ++i) array.set(i, ir::Scalar::from_whole(t, at(i)));
  return array;
}

ir::Array uniform(DType t, std::vector<std::int64_t> shape, std::uint64_t seed) {
  Random random(seed);
  ir::Array array(t, std::move(shape));
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.set(i, ir::Scalar::from_real(t, random.uniform() * 2 - 1));
  return array;
}

/// What is off about the strict program's bits.
std::string off_bits(const std::string& text, const std::vector<ir::Array>& inputs) {
  const ir::Graph g = ir::parse(text);
  const std::vector<ir::Array> got = run_program(ir::parse(text), inputs, in_mode(Numerics::strict)),
                               expected = ir::evaluate_typed(g, inputs);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::string off = mismatch_in_bits(got[i], expected[i]); !off.empty())
      return fmt::format("{}\noutput {}: {}", text, i, off);
  return "";
}

std::string graph(DType t, const std::vector<std::int64_t>& source, const std::string& index, int axis,
                  std::int64_t length) {
  return fmt::format(
      "graph @add(%x: {}[{}], %i: {}) {{\n  return scatter_add(%x, %i, axis={}, lengths=[{}])\n}}\n", name(t),
      fmt::join(source, ", "), index, axis, length);
}

}  // namespace

TEST_CASE("slices of one index add up, those of none give 0, in every dtype") {
  for (DType t : all_dtypes) {
    if (is_bool(t)) continue;
    const ir::Array x = whole_numbers(t, {6, 2}),
                    i = indices(int64, {6}, [](std::int64_t p) {
                      return std::vector<std::int64_t>{2, 0, 2, -1, 7, 2}[static_cast<std::size_t>(p)];
                    });
    for (Numerics numerics : all_modes) {
      const ir::Array y =
          run_program(ir::parse(graph(t, {6, 2}, "int64[6]", 0, 4)), std::vector{x, i}, in_mode(numerics))[0];
      for (std::int64_t c = 0; c < 2; ++c) {
        const auto at = [&](std::int64_t row) { return x.at(2 * row + c).real(); };
        INFO(name(t));
        CHECK(y.at(c).real() == at(1));
        CHECK(y.at(2 + c).real() == 0);
        const auto three = static_cast<std::int64_t>(at(0) + at(2) + at(5));
        CHECK(y.at(4 + c).real() == ir::Scalar::from_whole(t, three).real());
        CHECK(y.at(6 + c).real() == at(3));
      }
    }
  }
}

TEST_CASE("sums have the bits that their order gives, however many terms they have") {
  // Few rows, so that segments have several runs, stretches of runs, and ends within a run.
  for (auto [count, length] : {std::pair{1, 1}, {2, 1}, {5, 3}, {40, 7}, {300, 2}, {700, 1}, {1100, 3}})
    for (DType t : {f32, bf16, f64})
      for (std::int64_t columns : {1, 3, 8, 40}) {
        const std::int64_t rows = length;
        const ir::Array i =
            indices(int32, {count}, [&](std::int64_t p) { return p * 7919 % 101 * p % rows; });
        const std::vector<std::int64_t> shape{count, columns};
        CHECK(off_bits(graph(t, shape, fmt::format("int32[{}]", count), 0, length),
                       {uniform(t, shape, 3), i}) == "");
      }
}

TEST_CASE("long segments keep their order over all levels") {
  constexpr std::int64_t count = 20000;
  const ir::Array i = indices(int64, {count}, [&](std::int64_t p) { return p % 50 == 0 ? 1 : 0; });
  CHECK(off_bits(graph(f32, {count, 2}, "int64[20000]", 0, 2), {uniform(f32, {count, 2}, 5), i}) == "");
}

TEST_CASE("indices of any rank, along any axis, add up slices of any shape") {
  const auto at = [](std::int64_t p) { return p * 5 % 11 - 3; };
  const auto check = [&](std::vector<std::int64_t> source, std::vector<std::int64_t> index, int axis) {
    const std::string type = fmt::format("int64[{}]", fmt::join(index, ", "));
    CHECK(off_bits(graph(f32, source, type, axis, 6), {uniform(f32, source, 9), indices(int64, index, at)}) ==
          "");
  };
  check({20}, {20}, 0);
  check({4, 5}, {4, 5}, 0);
  check({7}, {}, 0);
  check({7, 3}, {}, 1);
  check({3, 20}, {20}, 1);
  check({3, 20, 4}, {20}, 1);
  check({3, 4, 5, 16}, {4, 5}, 1);
  check({2, 3, 17, 2, 2}, {17}, 2);
  check({600, 8}, {600}, 0);
}

TEST_CASE("what makes the slices and what reads the sums belong to the scatter's kernel") {
  const std::string text =
      "graph @fused(%g: f32[90, 24], %s: f32[90, 1], %i: int64[90], %w: f32[10, 24]) {\n"
      "  %0 = mul(%g, broadcast_to(%s, shape=[90, 24]))\n"
      "  %1 = scatter_add(%0, %i, axis=0, lengths=[10])\n"
      "  return sub(%w, mul(%1, 0.5))\n}\n";
  const ir::Array i = indices(int64, {90}, [](std::int64_t p) { return p * p % 13; });
  const std::vector<ir::Array> inputs{uniform(f32, {90, 24}, 1), uniform(f32, {90, 1}, 2), i,
                                      uniform(f32, {10, 24}, 3)};
  CHECK(off_bits(text, inputs) == "");
  const auto program = runtime::Program::build(ir::parse(text), program_options());
  const passes::Group& last = program->partition().groups.back();
  CHECK(last.outputs.size() == 1);
  CHECK(last.outputs[0] == program->optimized().outputs()[0].value);
  // The source is not stored: the kernel that adds reads what it is made of.
  std::size_t inputs_read = 0;
  for (ir::Value v : last.inputs) inputs_read += program->optimized().op(v) == ir::Op::input;
  CHECK(inputs_read == 3);
}

TEST_CASE("transposed, sliced, reversed and broadcast sources add up right") {
  const ir::Array i = indices(int64, {30}, [](std::int64_t p) { return p % 4; });
  const std::vector<ir::Array> inputs{uniform(f32, {16, 30}, 1), i};
  for (const char* source :
       {"permute_dims(%x, axes=[1, 0])", "flip(permute_dims(%x, axes=[1, 0]), axes=[0, 1])",
        "slice(permute_dims(%x, axes=[1, 0]), starts=[0, 1], lengths=[30, 7], steps=[1, 2])",
        "broadcast_to(slice(%x, starts=[2, 3], lengths=[1, 9], steps=[1, 1]), shape=[30, 9])",
        "mul(reshape(%x, shape=[30, 16]), 3.0)"})
    CHECK(off_bits(fmt::format("graph @moved(%x: f32[16, 30], %i: int64[30]) {{\n  %0 = {}\n"
                               "  return scatter_add(%0, %i, axis=0, lengths=[4])\n}}\n",
                               source),
                   inputs) == "");
}

TEST_CASE("a scatter of nothing, or to nothing, is zeros") {
  const ir::Array none(f32, {0, 3}), no_index(int64, {0});
  const ir::Array y =
      run_program(ir::parse(graph(f32, {0, 3}, "int64[0]", 0, 2)), std::vector{none, no_index})[0];
  CHECK(y.shape == std::vector<std::int64_t>{2, 3});
  for (std::int64_t i = 0; i < 6; ++i) CHECK(y.at(i).real() == 0);
  const ir::Array x = uniform(f32, {5, 3}, 1), i = indices(int64, {5}, [](std::int64_t p) { return p; });
  CHECK(run_program(ir::parse(graph(f32, {5, 3}, "int64[5]", 0, 0)), std::vector{x, i})[0].elements() == 0);
}

TEST_CASE("two scatters by one index, and a scatter of what was taken by it, agree with the reference") {
  const ir::Array i = indices(int64, {64}, [](std::int64_t p) { return p * 3 % 10; });
  const std::string text =
      "graph @both(%x: f32[64, 8], %y: f32[64, 8], %i: int64[64]) {\n"
      "  %0 = scatter_add(%x, %i, axis=0, lengths=[10])\n"
      "  %1 = scatter_add(%y, %i, axis=0, lengths=[10])\n"
      "  %2 = take(%0, %i, axis=0)\n"
      "  %3 = scatter_add(%2, %i, axis=0, lengths=[10])\n"
      "  return add(%0, %1), %3, sum(%1, axes=[1])\n}\n";
  const std::vector<ir::Array> inputs{uniform(f32, {64, 8}, 1), uniform(f32, {64, 8}, 2), i};
  for (Numerics numerics : all_modes) CHECK(off_bounds(ir::parse(text), inputs, numerics) == "");
}

TEST_CASE("searches and sums over segments never leave their arrays") {
  // Orders and starts that no pass makes.
  const std::string text =
      "graph @wild(%x: f32[6, 4], %o: int64[5], %s: int64[4], %n: int64[7]) {\n"
      "  return sum_segments(%x, %o, %s, axis=0), count_below(%o, %n), merged(%o, %n, 2)\n}\n";
  const ir::Array order = indices(int64, {5}, [](std::int64_t p) { return p * 40 - 50; }),
                  starts =
                      indices(int64, {4},
                              [](std::int64_t p) {
                                return std::vector<std::int64_t>{-9, 3, 2, 99}[static_cast<std::size_t>(p)];
                              }),
                  numbers = indices(int64, {7}, [](std::int64_t p) { return p * 30 - 60; });
  CHECK(off_bits(text, {uniform(f32, {6, 4}, 1), order, starts, numbers}) == "");
}
