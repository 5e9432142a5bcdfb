// Where tensors lie: at addresses that only a few bytes divide, with gaps between rows, and beyond what 32
// bits count.
#include <fmt/format.h>

#include <cstring>

#include "ir/parse.h"
#include "tests/catch.h"
#include "tests/program/check.h"
#include "tests/support/guarded_memory.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// Formulas over x and y of one dtype and shape.
const std::vector<std::pair<std::string, std::string>> formulas{
    {"elements", "  return add(mul(%x, 0.5), tanh(%y))\n"},
    {"rows",
     "  %e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n  return div(%e, sum(%e, axes=[1], "
     "keepdims=true)), sum(mul(%y, %y), axes=[1])\n"},
    {"columns", "  return sum(%x, axes=[0]), max(%y, axes=[0])\n"},
    {"transposed", "  return add(permute_dims(%x, axes=[1, 0]), permute_dims(%y, axes=[1, 0]))\n"},
};

/// A tensor whose rows are `step` elements apart, with a number in between that would be noticed.
runtime::TensorView with_gaps(const ir::Array& x, std::int64_t step) {
  const std::int64_t rows = x.shape[0], columns = x.shape[1];
  ir::Array block(x.dtype, {rows * step});
  for (std::int64_t i = 0; i < block.elements(); ++i) block.set(i, ir::Scalar::from_whole(x.dtype, 99));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) block.set(i * step + j, x.at(i * columns + j));
  runtime::TensorView view = view_of(block);
  view.shape = x.shape;
  view.strides = {step, 1};
  return view;
}

void check_places(DType t, std::int64_t columns) {
  const std::int64_t rows = 5;
  const ir::Array x = whole_numbers(t, {rows, columns}), y = whole_numbers(t, {rows, columns}, 3);
  for (const auto& [title, formula] : formulas) {
    const ir::Graph g = ir::parse(fmt::format(
        "graph @places(%x: {0}[{1}, {2}], %y: {0}[{1}, {2}]) {{\n{3}}}\n", name(t), rows, columns, formula));
    const std::vector<Bounded> expected = evaluate_bounded(g, std::vector{x, y});
    for (int alignment : {size_of(t), 8, 16, 64})
      for (std::int64_t gap : {0, 1, 4, 8}) {
        INFO(title << " of " << name(t) << ", " << columns << " columns, alignment " << alignment << ", gap "
                   << gap);
        // The simulator puts inputs at the places that the layouts allow and that are the least aligned ones.
        runtime::ProgramOptions options;
        options.layouts = {{{columns + gap, 1}, std::max(alignment, size_of(t))}, {{columns, 1}, 64}};
        std::vector<ir::Array> got;
        for (const runtime::TensorView& view : run_program_on_views(
                 ir::without_dead_nodes(g), std::vector{with_gaps(x, columns + gap), view_of(y)}, options))
          got.push_back(array_of(view));
        CHECK(mismatch(got, expected) == "");
      }
  }
}

runtime::TensorView sparse(DType t, std::vector<std::int64_t> shape) {
  runtime::TensorView view;
  std::int64_t elements = 1;
  view.strides.resize(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; elements *= shape[i]) view.strides[i] = elements;
  const auto pages = std::make_shared<ReservedMemory>(elements * size_of(t));
  view.buffer = runtime::Buffer::foreign(pages->data(), elements * size_of(t), [pages](void*) {});
  view.data = pages->data();
  view.dtype = t;
  view.shape = std::move(shape);
  return view;
}

}  // namespace

TEST_CASE("inputs of f32 at any place are read right") {
  check_places(f32, 96);
  check_places(f32, 280);
}
TEST_CASE("inputs of bf16 at any place are read right") {
  check_places(bf16, 96);
  check_places(bf16, 280);
}
TEST_CASE("inputs of 8-bit numbers and f64 at any place are read right") {
  const ir::Array x = whole_numbers(int8, {5, 96}), y = whole_numbers(f64, {5, 96});
  const ir::Graph g = ir::parse(
      "graph @mixed(%x: int8[5, 96], %y: f64[5, 96]) {\n  return add(%x, 3), add(cast(%x, "
      "dtype=f64), %y), sum(%x, axes=[1])\n}\n");
  const std::vector<ir::Exact> expected = ir::evaluate_reference(g, std::vector{x, y});
  for (int alignment : {1, 2, 8, 64}) {
    runtime::ProgramOptions options;
    options.layouts = {{{96 + alignment, 1}, alignment}, {{96, 1}, std::max(8, alignment)}};
    const auto got = run_program_on_views(ir::without_dead_nodes(g),
                                          std::vector{with_gaps(x, 96 + alignment), view_of(y)}, options);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(mismatch(array_of(got[i]), expected[i]) == "");
  }
}

TEST_CASE("the first and the last of more than 2^31 elements are right") {
  const std::int64_t n = (std::int64_t{1} << 31) + 4096;
  for (int alignment : {1, 64}) {
    const runtime::TensorView x = sparse(int8, {n});
    for (std::int64_t i : {std::int64_t{0}, std::int64_t{1}, n - 2, n - 1})
      x.data[i] = static_cast<std::byte>(i % 100 + 1);
    runtime::ProgramOptions options;
    options.layouts = {{{1}, alignment}};
    const auto got = run_program_on_views(
        ir::parse(fmt::format("graph @large(%x: int8[{}]) {{\n  return add(%x, 1)\n}}\n", n)), std::vector{x},
        options);
    for (std::int64_t i : {std::int64_t{0}, std::int64_t{1}, std::int64_t{9}, n - 9, n - 2, n - 1})
      CHECK(static_cast<int>(got[0].data[i]) == static_cast<int>(x.data[i]) + 1);
  }
}

TEST_CASE("the first and the last of many rows of more than 2^31 elements are right") {
  const std::int64_t rows = (std::int64_t{1} << 26) + 70, columns = 33;
  const runtime::TensorView x = sparse(int8, {rows, columns});
  for (std::int64_t row : {std::int64_t{0}, std::int64_t{1}, rows - 2, rows - 1})
    for (std::int64_t i = 0; i < columns; ++i)
      x.data[row * columns + i] = static_cast<std::byte>(row % 5 + 1);
  const auto got = run_program_on_views(
      ir::parse(fmt::format(
          "graph @large(%x: int8[{}, {}]) {{\n  return sum(%x, axes=[1]), max(%x, axes=[1])\n}}\n", rows,
          columns)),
      std::vector{x});
  for (std::int64_t row : {std::int64_t{0}, std::int64_t{1}, rows - 2, rows - 1}) {
    std::int64_t sum = 0;
    std::memcpy(&sum, got[0].data + row * 8, 8);
    CHECK(sum == (row % 5 + 1) * columns);
    CHECK(static_cast<std::int64_t>(got[1].data[row]) == row % 5 + 1);
  }
}

TEST_CASE("the first and the last of a transposed tensor of more than 2^31 elements are right") {
  const std::int64_t rows = 70001, columns = 33003;
  const runtime::TensorView x = sparse(int8, {rows, columns});
  // In blocks that the simulator runs.
  const std::vector<std::pair<std::int64_t, std::int64_t>> places{
      {0, 0}, {0, 3}, {5, 1}, {rows - 1, columns - 1}, {rows - 1, columns - 2}, {rows - 3, columns - 1}};
  for (auto [i, j] : places) x.data[i * columns + j] = static_cast<std::byte>(i % 7 + j % 11 + 1);
  const auto got = run_program_on_views(
      ir::parse(fmt::format(
          "graph @large(%x: int8[{}, {}]) {{\n  return add(permute_dims(%x, axes=[1, 0]), 1)\n}}\n", rows,
          columns)),
      std::vector{x});
  for (auto [i, j] : places) CHECK(static_cast<int>(got[0].data[j * rows + i]) == i % 7 + j % 11 + 2);
}
