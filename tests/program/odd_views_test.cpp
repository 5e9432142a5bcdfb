// Formulas over tensors of lengths from 0 on, seen in any way that strides allow: at addresses that no vector
// allows, across, backwards, with elements that rows share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tests/program/check.h"
#include "tests/support/drawn.h"
#include "tests/support/random.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

constexpr std::int64_t lengths[] = {0,  1,   2,   3,   5,    8,    17,   31,   33,
                                    64, 100, 129, 257, 1000, 1001, 4097, 9001, 40003};
constexpr std::int64_t most_elements = 100000;

/// Formulas of %x of rows x columns, some of which need an element to find the greatest of.
constexpr const char* formulas[] = {
    "return add(%x, 1)",
    "return sum(%x, axes=[1]), sum(%x, axes=[0]), sum(%x)",
    "%a = sum(%x, axes=[1], keepdims=true)\n  return sub(%x, %a), sum(mul(%x, 2), axes=[0])",
    "return concat(%x, neg(%x), axis=1), concat(%x, %x, %x, axis=0)",
    "return pad(%x, before=[1, 0], after=[0, 3], value=2), neg(permute_dims(%x, axes=[1, 0]))",
    "return add(flip(%x, axes=[1]), mul(%x, sum(%x)))",
    "%t = permute_dims(%x, axes=[1, 0])\n  return sum(mul(%t, %t), axes=[1]), mul(%t, 2), sum(%t, axes=[0])",
    "%d = mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true))\n  return %d, sum(mul(%x, 3), axes=[0]), "
    "sum(%x, axes=[1])",
};
constexpr const char* formulas_of_some[] = {
    "%e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n  return div(%e, sum(%e, axes=[1], keepdims=true))",
    "return max(%x, axes=[0]), min(%x, axes=[1]), max(%x)",
    "%m = max(%x, axes=[0], keepdims=true)\n  return sub(%x, %m), sum(sub(%x, %m), axes=[0])",
    "return argmax(%x, axes=[1]), argmin(%x, axes=[0])",
};

/// A view of that shape into new memory, and what it shows.
struct Seen {
  runtime::TensorView view;
  ir::Array array;
  int alignment;
};

Seen random_view(Random& random, DType t, std::int64_t rows, std::int64_t columns) {
  const std::int64_t pitch = columns + static_cast<std::int64_t>(random.below(3));
  const std::vector<std::int64_t> all[] = {{columns, 1}, {pitch, 1},  {1, rows},   {1, 1},           {0, 1},
                                           {1, 0},       {-pitch, 1}, {pitch, -1}, {2 * columns, 2}, {0, 0}};
  const std::vector<std::int64_t> strides = random.pick(all);
  std::int64_t least = 0, greatest = 0;
  const std::int64_t shape[] = {rows, columns};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = std::max<std::int64_t>(0, shape[i] - 1) * strides[i];
    (reach < 0 ? least : greatest) += reach;
  }
  const auto skipped = static_cast<std::int64_t>(random.below(4));
  const ir::Array memory = drawn(t, {greatest - least + 1 + skipped}, random);
  Seen seen{view_of(memory), ir::Array(t, {rows, columns}), 64};
  const std::int64_t first = skipped - least;
  seen.view.data += first * size_of(t);
  seen.view.shape = {rows, columns};
  seen.view.strides = strides;
  while (first * size_of(t) % seen.alignment != 0) seen.alignment /= 2;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      seen.array.set(i * columns + j, memory.at(first + i * strides[0] + j * strides[1]));
  return seen;
}

}  // namespace

TEST_CASE("formulas over tensors of any length, seen in any way, hold the bounds of the reference") {
  constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64, DType::int32, DType::int8};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const DType t = random.pick(dtypes);
    std::int64_t rows = random.pick(lengths), columns = random.pick(lengths);
    while (rows * columns > most_elements) (rows > columns ? rows : columns) /= 2;
    const bool some = rows * columns > 0 && random.chance(0.4);
    const std::string formula = some ? random.pick(formulas_of_some) : random.pick(formulas);
    if (!is_float(t) && formula.find("exp") != std::string::npos) continue;
    const std::string text =
        fmt::format("graph @odd(%x: {}[{}, {}]) {{\n  {}\n}}\n", name(t), rows, columns, formula);
    const Seen seen = random_view(random, t, rows, columns);
    runtime::ProgramOptions options =
        program_options(random.chance(0.3) ? Numerics::strict : Numerics::standard);
    options.layouts = {{seen.view.strides, seen.alignment}};
    INFO("seed " << seed << ", strides " << fmt::format("{}", fmt::join(seen.view.strides, ", "))
                 << ", aligned to " << seen.alignment << "\n"
                 << text);
    const ir::Graph g = ir::without_dead_nodes(ir::parse(text));
    std::vector<ir::Array> got;
    for (const runtime::TensorView& v :
         run_program_on_views(ir::without_dead_nodes(g), std::vector{seen.view}, options))
      got.push_back(array_of(v));
    CHECK(mismatch(got, evaluate_bounded(g, std::vector{seen.array})) == "");
  }
}

TEST_CASE("every team that folds across rows has rows, whichever vectors a row's elements come in") {
  for (const std::int64_t rows : {10000, 129, 1})
    for (const std::int64_t columns : {8, 0}) {
      const ir::Array all = whole_numbers(bf16, {rows * columns + 1});
      ir::Array array(bf16, {rows, columns});
      for (std::int64_t i = 0; i < array.elements(); ++i) array.set(i, all.at(i + 1));
      runtime::TensorView view = view_of(all);
      view.data += 2;  // where no vector may begin
      view.shape = {rows, columns};
      view.strides = {columns, 1};
      runtime::ProgramOptions options = program_options();
      options.layouts = {{view.strides, 2}};
      const ir::Graph g = ir::parse(
          fmt::format("graph @g(%x: bf16[{}, {}]) {{\n  %w = cast(%x, dtype=f32)\n"
                      "  return sum(%w, axes=[1]), cast(max(mul(%w, %w), axes=[0]), dtype=bf16)\n}}\n",
                      rows, columns));
      const std::vector<runtime::TensorView> got =
          run_program_on_views(ir::without_dead_nodes(g), std::vector{view}, options);
      const std::vector<ir::Exact> expected = ir::evaluate_reference(g, std::vector{array});
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(mismatch(array_of(got[i]), expected[i]) == "");
    }
}
