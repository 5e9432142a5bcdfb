// Rows that begin anywhere in the vectors of their tensors: lengths that no vector divides, rows of every
// skew, the last one at the end of its memory, tensors of several dtypes, places and steps between rows.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

struct Formula {
  const char* title;
  const char* text;  // over x and y of one shape, w of one row, and z of another dtype
};

const Formula formulas[] = {
    {"softmax",
     "  %e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n"
     "  return div(%e, sum(%e, axes=[1], keepdims=true))\n"},
    {"norm of a sum, with weights",
     "  %s = add(%x, %y)\n  %q = sum(mul(%s, %s), axes=[1], keepdims=true)\n"
     "  return %s, mul(mul(%s, rsqrt(add(%q, 1.0))), %w)\n"},
    {"deviations from the mean",
     "  %m = mul(sum(%x, axes=[1], keepdims=true), 0.0001)\n  %d = sub(%x, %m)\n"
     "  return mul(%d, rsqrt(add(sum(mul(%d, %d), axes=[1], keepdims=true), 1.0)))\n"},
    {"log of a sum",
     "  %m = max(%x, axes=[1], keepdims=true)\n  return add(log(sum(exp(sub(%x, %m)), axes=[1], "
     "keepdims=true)), %m)\n"},
    {"places", "  return argmax(%x, axes=[1]), argmin(%y, axes=[1]), sum(mul(%x, %w), axes=[1])\n"},
    {"two dtypes",
     "  %m = max(cast(%x, dtype=f32), axes=[1], keepdims=true)\n  return sub(cast(%x, dtype=f32), %m), "
     "sum(cast(%z, dtype=f32), axes=[1]), add(%z, cast(%m, dtype=int8))\n"},
    {"numbers of places",
     "  %i = iota(shape=[@], axis=0, dtype=f32)\n  %m = max(%x, axes=[1], keepdims=true)\n"
     "  return where(less(cast(%x, dtype=f32), %i), %x, %m)\n"},
    {"a part of each row",
     "  %p = slice(%x, ranges=[:, 3:])\n  %q = slice(%y, ranges=[:, :-3])\n"
     "  %m = max(add(%p, %q), axes=[1], keepdims=true)\n  return sub(%p, %m), sub(%q, %m)\n"},
    {"joined and padded",
     "  %j = concat(%x, %y, axis=1)\n  return sub(%j, max(%j, axes=[1], keepdims=true)), sum(pad(%x, "
     "before=[0, 2], after=[0, 3], value=1), axes=[1])\n"},
    {"flipped rows", "  %f = flip(%x, axes=[0])\n  return sub(%f, min(%f, axes=[1], keepdims=true))\n"},
};

void check(const Formula& formula, DType t, std::int64_t rows, std::int64_t length) {
  INFO(formula.title << " of " << name(t) << "[" << rows << ", " << length << "]");
  std::string text = formula.text;
  if (const auto at = text.find('@'); at != text.npos) text.replace(at, 1, std::to_string(length));
  const ir::Graph g = ir::parse(fmt::format(
      "graph @rows(%x: {0}[{1}, {2}], %y: {0}[{1}, {2}], %w: {0}[{2}], %z: int8[{1}, {2}]) {{\n{3}}}\n",
      name(t), rows, length, text));
  CHECK(off_bounds(g,
                   {whole_numbers(t, {rows, length}), whole_numbers(t, {rows, length}, 5),
                    whole_numbers(t, {length}, 11), whole_numbers(DType::int8, {rows, length}, 3)},
                   Numerics::standard) == "");
}

void check_lengths(DType t, std::int64_t rows, std::initializer_list<std::int64_t> lengths) {
  for (std::int64_t length : lengths)
    for (const Formula& formula : formulas) check(formula, t, rows, length);
}

}  // namespace

TEST_CASE("odd rows of f32, of a few lanes to a block") {
  check_lengths(f32, 9, {65, 66, 99, 129, 257, 515, 1001, 2049});
}
TEST_CASE("odd rows of 16-bit floats, of a few lanes to a block") {
  check_lengths(bf16, 9, {129, 130, 132, 257, 511, 1001});
  check_lengths(f16, 11, {135, 2051});
}
TEST_CASE("odd rows of other dtypes") {
  check_lengths(DType::f64, 5, {33, 1001});
}
TEST_CASE("odd rows of a block, in registers and in shared memory") {
  check_lengths(f32, 5, {4097, 8191, 12289});
  check_lengths(bf16, 5, {4098, 8191, 12289, 16385});
}
TEST_CASE("odd rows of several blocks") {
  check_lengths(f32, 3, {33333, 50257});
  check_lengths(bf16, 3, {65537});
  check(formulas[0], f32, 3, 80001);
  check(formulas[2], bf16, 3, 200001);
}

TEST_CASE("rows that begin at vectors, but anywhere in lines of memory") {
  check_lengths(f32, 5, {12292, 16396});
  check_lengths(bf16, 4, {24584});
  check_lengths(f32, 3, {50260});
  check(formulas[0], f32, 5, 80004);
  check(formulas[1], bf16, 4, 150008);
  check(formulas[2], f32, 4, 131076);
  check(formulas[0], f32, 2, 98708);
  check(formulas[4], DType::f64, 2, 49300);
}

TEST_CASE("rows of odd lengths beside vectors of other dtypes are right") {
  constexpr std::int64_t rows = 3;
  for (const std::int64_t length : {2049, 1027})
    for (const DType t : {DType::f64, DType::f32, DType::bf16})
      for (const DType of_vector : {DType::boolean, DType::uint8, DType::f16, DType::f64, DType::int64}) {
        INFO(name(t) << "[" << rows << ", " << length << "] and " << name(of_vector));
        const ir::Graph g = ir::parse(fmt::format(
            "graph @g(%x: {0}[{1}, {2}], %b: {3}[{2}]) {{\n  %s = sum(mul(%x, %x), axes=[1], keepdims=true)\n"
            "  return where(greater(cast(%b, dtype=f64), 0.0), mul(%x, %s), %s)\n}}\n",
            name(t), rows, length, name(of_vector)));
        CHECK(off_bounds(g, {whole_numbers(t, {rows, length}), whole_numbers(of_vector, {length}, 5)},
                         Numerics::standard) == "");
      }
}
