// Sizes on both sides of every threshold of every schedule: 32 lanes, blocks of 1024, chunks of 8192, tiles
// of 64 columns, pieces of 65,536 elements, rows that are split from 131,072 on, and 64 rows as the most that
// are.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

using Lengths = std::vector<std::int64_t>;

const Lengths row_lengths{0,    1,     2,     5,     31,     32,     33,     63,    64,
                          65,   1023,  1024,  1025,  1056,   2047,   2048,   2049,  3100,
                          8192, 65535, 65536, 65537, 131071, 131072, 131073, 200001};

/// Folds along one axis, with the row used again after its maximum, so that a kernel walks twice.
std::string folding(std::int64_t axis, std::string_view declaration, std::string_view x) {
  return fmt::format(
      "graph @folding({}) {{\n  %s = sum({x}, axes=[{a}])\n  %c = sum(cast({x}, dtype=int64), axes=[{a}])\n"
      "  %n = any(greater({x}, 40), axes=[{a}])\n  return %s, %c, %n\n}}\n",
      declaration, fmt::arg("x", x), fmt::arg("a", axis));
}

/// Where the axis is not empty: also maxima and their places.
std::string finding(std::int64_t axis, std::string_view declaration, std::string_view x) {
  return fmt::format(
      "graph @finding({}) {{\n  %m = max({x}, axes=[{a}], keepdims=true)\n  %d = sub({x}, %m)\n  %s = "
      "sum(%d, axes=[{a}])\n"
      "  %p = argmax({x}, axes=[{a}])\n  %q = argmin({x}, axes=[{a}])\n  return %d, %s, %p, %q\n}}\n",
      declaration, fmt::arg("x", x), fmt::arg("a", axis));
}

void check(std::int64_t axis, std::int64_t length, const std::string& declaration, std::string_view x,
           const Lengths& shape) {
  INFO(declaration << ", axis " << axis << " of " << x);
  const std::vector<ir::Array> inputs{whole_numbers(f32, shape)};
  CHECK(off_exact(ir::parse(folding(axis, declaration, x)), inputs) == "");
  if (length != 0) CHECK(off_exact(ir::parse(finding(axis, declaration, x)), inputs) == "");
}

}  // namespace

TEST_CASE("rows of any length are folded right") {
  for (std::int64_t length : row_lengths)
    for (std::int64_t rows : {1, 3})
      check(1, length, fmt::format("%x: f32[{}, {}]", rows, length), "%x", {rows, length});
}

TEST_CASE("few and many rows are folded right") {
  for (std::int64_t rows : {0, 2, 63, 64, 65, 1000})
    check(1, 70, fmt::format("%x: f32[{}, 70]", rows), "%x", {rows, 70});
}

TEST_CASE("short rows, side by side, are folded right") {
  for (std::int64_t length : {2, 3, 31, 32, 33, 63})
    for (std::int64_t rows : {64, 65, 127, 200}) {
      check(1, length, fmt::format("%x: f32[{}, {}]", rows, length), "%x", {rows, length});
      if (length == 3)
        check(2, length, fmt::format("%x: f32[5, {}, {}]", rows, length), "slice(%x, ranges=[:, ::-1])",
              {5, rows, length});
    }
}

TEST_CASE("columns of any length and number are folded right") {
  for (std::int64_t length : {0, 1, 2, 31, 32, 33, 1024, 1025, 2100})
    for (std::int64_t columns : {1, 2, 7, 8, 9, 63, 64, 65, 130})
      check(0, length, fmt::format("%x: f32[{}, {}]", length, columns), "%x", {length, columns});
}

TEST_CASE("rows that lie in several runs of memory are folded right") {
  for (std::int64_t outer : {2, 3, 33})
    for (std::int64_t inner : {2, 17, 31, 32, 33, 512, 1023, 1025})
      for (std::int64_t rows : {2, 3}) {
        const std::string declaration = fmt::format("%x: f32[{}, {}, {}]", outer, rows, inner);
        INFO(declaration);
        const std::string text = fmt::format(
            "graph @runs({}) {{\n  %m = max(%x, axes=[0, 2], keepdims=true)\n  %d = sub(%x, %m)\n  %s = "
            "sum(%d, axes=[0, 2])\n"
            "  return %d, %s, argmax(%x, axes=[0, 2]), argmin(%x, axes=[0, 2])\n}}\n",
            declaration);
        CHECK(off_exact(ir::parse(text), {whole_numbers(f32, {outer, rows, inner})}) == "");
      }
}

TEST_CASE("long rows that lie in several runs of memory are folded in pieces right") {
  for (std::int64_t inner : {43690, 43691, 65536, 70001}) {
    const std::string text = fmt::format(
        "graph @runs(%x: f32[3, 2, {}]) {{\n  %m = max(%x, axes=[0, 2], keepdims=true)\n  %s = sum(sub(%x, "
        "%m), axes=[0, 2])\n"
        "  return %m, %s, argmax(%x, axes=[0, 2]), argmin(%x, axes=[0, 2])\n}}\n",
        inner);
    INFO(text);
    CHECK(off_exact(ir::parse(text), {whole_numbers(f32, {3, 2, inner})}) == "");
  }
}

TEST_CASE("elements of tensors of any size are computed, each once") {
  for (std::int64_t n : {0, 1, 2, 7, 8, 63, 64, 65, 8191, 8192, 8193, 32768, 32769, 100003}) {
    INFO(n);
    const std::string text = fmt::format("graph @line(%x: f32[{}]) {{\n  return add(mul(%x, 2), 1)\n}}\n", n);
    CHECK(off_exact(ir::parse(text), {whole_numbers(f32, {n})}) == "");
  }
  for (std::int64_t columns : {2, 63, 8191, 8192, 8193, 16385})
    for (std::int64_t rows : {2, 5}) {
      INFO(rows << " x " << columns);
      const std::string text = fmt::format(
          "graph @plane(%x: f32[{0}, {1}], %y: f32[{0}, 1]) {{\n  return add(%x, %y)\n}}\n", rows, columns);
      CHECK(off_exact(ir::parse(text),
                      {whole_numbers(f32, {rows, columns}), whole_numbers(f32, {rows, 1}, 5)}) == "");
    }
}

TEST_CASE("transposed tensors are read in tiles, each element once") {
  // Of every width, since narrow elements are turned before they are used.
  for (const DType t : {f32, f64, bf16, f16, int8, uint8, boolean})
    for (std::int64_t rows : {2, 15, 16, 17, 63, 64, 65, 200})
      for (std::int64_t columns : {2, 15, 16, 17, 33, 130}) {
        const std::string text = fmt::format(
            "graph @transposed(%x: {2}[3, {0}, {1}], %y: {2}[3, {1}, {0}]) {{\n  return {3}(%x, "
            "permute_dims(%y, axes=[0, 2, 1]))\n}}\n",
            rows, columns, name(t), t == boolean ? "logical_xor" : "sub");
        INFO(text);
        CHECK(off_exact(ir::parse(text), {whole_numbers(t, {3, rows, columns}),
                                          whole_numbers(t, {3, columns, rows}, 4)}) == "");
      }
}

TEST_CASE("tensors of every rank are computed") {
  std::string shape;
  Lengths lengths;
  for (int rank = 0; rank <= 6; ++rank) {
    const std::string text = fmt::format(
        "graph @ranks(%x: f32[{}]) {{\n  %s = sum(%x)\n  return %s, sub(%x, %s), neg(%x)\n}}\n", shape);
    INFO(text);
    CHECK(off_exact(ir::parse(text), {whole_numbers(f32, lengths)}) == "");
    shape += fmt::format("{}{}", rank == 0 ? "" : ", ", rank % 3 + 2);
    lengths.push_back(rank % 3 + 2);
  }
}
