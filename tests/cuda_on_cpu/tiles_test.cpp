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
