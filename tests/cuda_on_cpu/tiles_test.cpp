// Tensors that lie along another axis than the others, turned in shared memory: every dtype, extents that
// fill no tile, places that only a few bytes divide, and axes of a few elements.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <numeric>

#include "codegen/tile.h"
#include "tests/catch.h"
#include "tests/codegen/kernels.h"
#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

std::string list(const std::vector<std::int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

/// "neg" of a permuted tensor, beside one that lies as the result does.
void check_permutation(DType t, const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& axes,
                       bool added = true) {
  std::vector<std::int64_t> turned;
  for (std::int64_t a : axes) turned.push_back(shape[static_cast<std::size_t>(a)]);
  const std::string text = fmt::format(
      "graph @turn(%x: {0}{1}, %y: {0}{2}) {{\n  return {3}(permute_dims(%x, axes={4}), {5})\n}}\n", name(t),
      list(shape), list(turned), is_bool(t) ? "logical_xor" : "add", list(axes),
      added        ? "%y"
      : is_bool(t) ? "true"
                   : "1");
  INFO(text);
  CHECK(off_exact(ir::parse(text), {whole_numbers(t, shape), whole_numbers(t, turned, 5)}) == "");
}

/// A graph whose results are exact, over tensors of one dtype.
void check_graph(const std::string& text, const std::vector<ir::Array>& inputs) {
  INFO(text);
  CHECK(off_exact(ir::parse(text), inputs) == "");
}

}  // namespace

TEST_CASE("transposed operands of every dtype are read right") {
  for (DType t : all_dtypes)
    for (auto [rows, columns] : {std::pair{128, 192}, {130, 68}, {67, 133}, {40, 300}})
      check_permutation(t, {rows, columns}, {1, 0});
}

TEST_CASE("permutations of three and four axes are read right") {
  for (DType t : {uint8, bf16, f32, f64}) {
    check_permutation(t, {70, 5, 66}, {2, 1, 0});
    check_permutation(t, {3, 66, 70}, {0, 2, 1});
    check_permutation(t, {66, 70, 3}, {1, 2, 0}, false);
    check_permutation(t, {2, 34, 36, 4}, {0, 2, 1, 3});
    check_permutation(t, {2, 33, 35, 3}, {0, 2, 1, 3});
    check_permutation(t, {2, 40, 24, 2}, {0, 2, 1, 3}, false);
    check_permutation(t, {9, 10, 11, 12}, {3, 1, 2, 0});
  }
}

TEST_CASE("few channels are read right on both sides") {
  for (DType t : {uint8, bf16, f32, f64})
    for (std::int64_t channels : {2, 3, 4, 5, 7, 24, 48})
      for (std::int64_t places : {256, 260, 197}) {
        check_permutation(t, {2, channels, places}, {0, 2, 1});
        check_permutation(t, {2, places, channels}, {0, 2, 1}, false);
      }
}

TEST_CASE("several operands and results that lie across share the tiles") {
  for (DType t : {int8, f16, f32, int64})
    for (auto [rows, columns] : {std::pair{96, 136}, {77, 131}}) {
      const ir::Array a = whole_numbers(t, {rows, columns}), b = whole_numbers(t, {columns, rows}, 3),
                      c = whole_numbers(t, {columns, rows}, 7);
      const std::string inputs =
          fmt::format("(%a: {0}[{1}, {2}], %b: {0}[{2}, {1}], %c: {0}[{2}, {1}])", name(t), rows, columns);
      check_graph(
          "graph @both" + inputs +
              " {\n  %s = add(%a, permute_dims(sub(%b, %c), axes=[1, 0]))\n  return %s, maximum(%s, 3)\n}\n",
          {a, b, c});
      // Here the result is what lies across.
      check_graph(
          "graph @result" + inputs + " {\n  return permute_dims(sub(%b, %c), axes=[1, 0]), add(%a, 1)\n}\n",
          {a, b, c});
      check_graph("graph @mixed" + inputs +
                      " {\n  return cast(permute_dims(minimum(%b, %c), axes=[1, 0]), dtype=f32), "
                      "greater(permute_dims(%b, axes=[1, 0]), %a)\n}\n",
                  {a, b, c});
    }
}

TEST_CASE("flipped, sliced, expanded, padded and joined operands are read right across") {
  for (DType t : {uint8, bf16, f32, f64}) {
    const ir::Array a = whole_numbers(t, {90, 132}), b = whole_numbers(t, {132, 90}, 3);
    const std::string head =
        fmt::format("graph @turn(%a: {0}[90, 132], %b: {0}[132, 90]) {{\n  return ", name(t));
    for (const char* formula :
         {"add(%a, permute_dims(flip(%b, axes=[1]), axes=[1, 0]))",
          "add(%a, permute_dims(flip(%b, axes=[0]), axes=[1, 0]))",
          "add(%a, flip(permute_dims(%b, axes=[1, 0]), axes=[0, 1]))",
          "add(slice(%a, ranges=[1:, :128]), permute_dims(slice(%b, ranges=[4:, 1:]), axes=[1, 0]))",
          "add(slice(%a, ranges=[:45, :66]), permute_dims(slice(%b, ranges=[::2, ::2]), axes=[1, 0]))",
          "pad(permute_dims(%b, axes=[1, 0]), before=[3, 4], after=[1, 8], value=2)",
          "add(%a, permute_dims(pad(slice(%b, ranges=[2:, 1:]), before=[2, 0], after=[0, 1], value=1), "
          "axes=[1, 0]))",
          "concat(%a, permute_dims(%b, axes=[1, 0]), axis=1)",
          "concat(permute_dims(%b, axes=[1, 0]), %a, axis=0)"})
      check_graph(head + formula + "\n}\n", {a, b});
  }
}

TEST_CASE("what is gathered across is read right") {
  ir::Array rows(int64, {75});
  for (std::int64_t i = 0; i < 75; ++i) rows.set(i, ir::Scalar::from_whole(int64, (i * 37) % 90));
  check_graph(
      "graph @gather(%t: f32[90, 68], %i: int64[75]) {\n  return add(1, permute_dims(take(%t, %i, axis=0), "
      "axes=[1, 0]))\n}\n",
      {whole_numbers(f32, {90, 68}), rows});
}

TEST_CASE("tensors at any place are read right across") {
  for (DType t : {uint8, bf16, f32})
    for (int offset : {0, 1, 2, 4})
      for (std::int64_t gap : {0, 1, 4, 16}) {
        const std::int64_t rows = 132, columns = 72;
        const ir::Array block = whole_numbers(t, {offset + rows * (columns + gap)});
        const ir::Array beside = whole_numbers(t, {columns, rows}, 3);
        ir::Array seen(t, {rows, columns});
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            seen.set(i * columns + j, block.at(offset + i * (columns + gap) + j));
        runtime::TensorView x = view_of(block);
        x.data += offset * size_of(t);
        x.shape = {rows, columns};
        x.strides = {columns + gap, 1};
        const ir::Graph g = ir::parse(fmt::format(
            "graph @places(%x: {0}[{1}, {2}], %y: {0}[{2}, {1}]) {{\n  return add(permute_dims(%x, axes=[1, "
            "0]), %y)\n}}\n",
            name(t), rows, columns));
        INFO(name(t) << ", offset " << offset << ", gap " << gap);
        runtime::ProgramOptions options;
        options.layouts = {{x.strides, offset == 0 ? 64 : offset * size_of(t)}, {{rows, 1}, 64}};
        const auto got =
            run_program_on_views(ir::without_dead_nodes(g), std::vector{x, view_of(beside)}, options);
        CHECK(mismatch(array_of(got[0]), ir::evaluate_reference(g, std::vector{seen, beside})[0]) == "");
      }
}
