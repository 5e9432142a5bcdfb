// Rows that are too long for a few threads' registers: what is folded, and what is computed from it at every
// element, for one and several inputs and outputs, at lengths that divide and that do not.
#include <fmt/format.h>

#include <cmath>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

struct Formula {
  const char* title;
  const char* text;  // over x and y of one shape, and w of one row
};

const Formula of_floats[] = {
    {"softmax",
     "  %e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n"
     "  return div(%e, sum(%e, axes=[1], keepdims=true))\n"},
    {"sum of two, normed, with the sum",
     "  %s = add(%x, %y)\n  %q = sum(mul(%s, %s), axes=[1], keepdims=true)\n"
     "  return %s, mul(mul(%s, rsqrt(add(%q, 1.0))), %w)\n"},
    {"deviations from the mean",
     "  %m = mul(sum(%x, axes=[1], keepdims=true), 0.0001)\n  %d = sub(%x, %m)\n"
     "  return mul(%d, rsqrt(add(sum(mul(%d, %d), axes=[1], keepdims=true), 1.0)))\n"},
};

const Formula of_any[] = {
    {"place and distance", "  return argmax(%x, axes=[1]), sub(max(%x, axes=[1], keepdims=true), %x)\n"},
    {"two inputs walked again",
     "  %a = max(maximum(%x, mul(%y, %w)), axes=[1], keepdims=true)\n"
     "  return sub(%a, %x), minimum(%y, %a), min(%y, axes=[1])\n"},
    {"joined rows", "  %j = concat(%x, %y, axis=1)\n  return sub(%j, max(%j, axes=[1], keepdims=true))\n"},
    {"flipped", "  %f = flip(%x, axes=[1])\n  return sub(%f, min(%f, axes=[1], keepdims=true))\n"},
    {"a part of each row",
     "  %p = slice(%x, ranges=[:, 3:])\n  return sub(%p, max(%p, axes=[1], keepdims=true))\n"},
};

ir::Graph graph_of(const Formula& formula, DType t, std::int64_t rows, std::int64_t length) {
  return ir::parse(fmt::format("graph @rows(%x: {0}[{1}, {2}], %y: {0}[{1}, {2}], %w: {0}[{2}]) {{\n{3}}}\n",
                               name(t), rows, length, formula.text));
}

std::vector<ir::Array> inputs_of(DType t, std::int64_t rows, std::int64_t length) {
  return {whole_numbers(t, {rows, length}), whole_numbers(t, {rows, length}, 5),
          whole_numbers(t, {length}, 11)};
}

void check(std::span<const Formula> formulas, DType t, std::int64_t rows, std::int64_t length) {
  for (const Formula& formula : formulas) {
    INFO(formula.title << " of " << name(t) << "[" << rows << ", " << length << "]");
    CHECK(off_bounds(graph_of(formula, t, rows, length), inputs_of(t, rows, length), Numerics::standard) ==
          "");
  }
}

}  // namespace

TEST_CASE("long rows of floats, at lengths that divide and that do not") {
  for (DType t : {f32, bf16})
    for (std::int64_t length : {16384, 16381, 40004}) check(of_floats, t, 2, length);
  check(of_floats, f16, 2, 70000);
  check(of_floats, DType::f64, 2, 33333);
}

TEST_CASE("long rows, each of a block") {
  const std::int64_t many = 70;  // more than blocks share on any GPU
  check(std::span(of_floats).subspan(1), bf16, many, 8192);
  check(std::span(of_floats).first(1), f32, many, 8190);
}

TEST_CASE("long rows of every dtype") {
  for (DType t : {f32, bf16, DType::f64, DType::int32, DType::int64, DType::uint8})
    for (std::int64_t length : {16384, 20001}) check(of_any, t, 3, length);
}

TEST_CASE("the longest rows that a cluster holds, and longer ones") {
  for (std::int64_t length : {262144, 600000}) {
    check(of_floats, bf16, 1, length);
    check(std::span(of_any).first(2), f32, 1, length);
  }
}

TEST_CASE("rows whose pieces blocks take as they start") {
  check(of_floats, f32, 3, 150001);
  check(of_floats, f32, 2, 163840);
  check(of_floats, DType::f64, 2, 81920);
  check(of_any, DType::int64, 2, 80000);
  check(std::span(of_any).first(2), bf16, 2, 300001);
}

TEST_CASE("numbers that one of their row divides are rounded right, large, small and none") {
  const double divisors[] = {3, 1,  0x1.fffffep60, 0x1.fffffep59, 0x1p90, 0.7, 0x1p-130, INFINITY, 1.7, 2,
                             0, NAN};
  const double special[] = {0.0,         -0.0,    -INFINITY,      0x1p-149, -0x1.8p-130,
                            -0x1.8p-148, 0x1p-61, 0x1.fffffep-60, -0x1p126};
  for (std::int64_t length : {64, 2048, 16384}) {
    ir::Array x(f32, {std::ssize(divisors), length});
    for (std::int64_t row = 0; row < x.shape[0]; ++row)
      for (std::int64_t i = 0; i < length; ++i) {
        // One that is the maximum of the row, numbers below it, and some that take the long way.
        const double below = -1.0 - static_cast<double>((i * 7919 + row) % 10007) / 997;
        double value = i == 5 ? divisors[row] : std::ldexp(below, static_cast<int>(i % 80) - 40);
        if (i % 41 == 1) value = special[static_cast<std::size_t>(i / 41) % std::size(special)];
        x.set(row * length + i, ir::Scalar::from_real(f32, value));
      }
    const ir::Graph g = ir::parse(fmt::format(
        "graph @quotients(%x: f32[{}, {}]) {{\n  return div(%x, max(%x, axes=[1], keepdims=true))\n}}\n",
        x.shape[0], length));
    INFO(length);
    for (Numerics numerics : all_modes) CHECK(off_exact(g, {x}, numerics) == "");
  }
}
