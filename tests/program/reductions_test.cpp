// Every reduction, over every dtype, any axes, and the values at which folds go wrong.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "sinter/error.h"
#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

const std::vector<std::string> reductions{"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};

/// Whole numbers near 0, or powers of two for products of floats, so that every order of folding gives the
/// same.
ir::Array exact_numbers(DType t, const std::vector<std::int64_t>& shape) {
  ir::Array array(t, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    const std::int64_t k = (i * 7919 + i / 7) % 11;
    array.set(i, ir::Scalar::from_real(
                     t, is_float(t) ? std::array{1.0, 2.0, 0.5, -1.0}[static_cast<std::size_t>(k % 4)]
                                    : static_cast<double>(k - 5)));
  }
  return array;
}

}  // namespace

TEST_CASE("every reduction of every dtype folds under every schedule") {
  struct Folding {
    std::vector<std::int64_t> shape;
    const char *operand, *axes;
  };
  const Folding foldings[] = {
      {{5, 70}, "%x", "1"},                           // rows
      {{70, 21}, "%x", "1"},                          // short rows, side by side
      {{37, 70}, "%x", "0"},                          // columns
      {{5, 140}, "slice(%x, ranges=[:, ::2])", "1"},  // gaps between the elements
      {{3, 2, 50}, "%x", "0, 2"},                     // runs
  };
  for (const Folding& folding : foldings)
    for (DType t : all_dtypes) {
      std::string results, shape;
      for (const std::string& op : reductions)
        results += fmt::format("{}{}({}, axes=[{}])", results.empty() ? "" : ", ", op, folding.operand,
                               folding.axes);
      for (std::int64_t n : folding.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", n);
      const std::string text =
          fmt::format("graph @folds(%x: {}[{}]) {{\n  return {}\n}}\n", name(t), shape, results);
      INFO(text);
      CHECK(off_exact(ir::parse(text), {exact_numbers(t, folding.shape)}) == "");
    }
}

TEST_CASE("any axes of a tensor are folded") {
  for (unsigned set = 1; set < 16; ++set) {
    std::string axes;
    for (int i = 0; i < 4; ++i)
      if (set >> i & 1) axes += fmt::format("{}{}", axes.empty() ? "" : ", ", i);
    const std::string text = fmt::format(
        "graph @axes(%x: f32[3, 5, 4, 9]) {{\n  %s = sum(%x, axes=[{0}], keepdims=true)\n  %d = sub(%x, %s)\n"
        "  %p = max(%x, axes=[{0}])\n  return %s, %d, %p\n}}\n",
        axes);
    INFO(text);
    CHECK(off_exact(ir::parse(text), {whole_numbers(f32, {3, 5, 4, 9})}) == "");
  }
}

TEST_CASE("argmax and argmin give the first of equals, and the first NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* layout : {"rows", "columns"}) {
    const bool columns = std::string(layout) == "columns";
    for (std::int64_t length : {5, 40, 1100, 5000}) {
      const std::int64_t rows = 9;
      ir::Array x =
          array_of(f32, {rows, length}, std::vector<double>(static_cast<std::size_t>(rows * length), 1));
      auto set = [&](std::int64_t row, std::int64_t at, double v) {
        x.set(row * length + at, ir::Scalar::from_real(f32, v));
      };
      // Row 0 is all equal; the others have their greatest or NaN at places that different lanes and blocks
      // hold.
      set(1, length - 1, 2);
      set(2, 1, 2), set(2, length - 1, 2);
      set(3, length - 1, nan);
      set(4, length / 2, nan), set(4, length - 1, nan);
      set(5, 0, nan), set(5, 1, 5);
      set(6, length - 1, -2);
      set(7, length / 2, 2), set(7, length / 2 + 1, 2);
      for (std::int64_t i = 0; i < length; ++i) set(8, i, -std::numeric_limits<double>::infinity());
      const std::string text = fmt::format(
          "graph @places(%x: f32[{0}, {1}]) {{\n  %t = permute_dims(%x, axes=[1, 0])\n  %p = argmax({2}, "
          "axes=[{3}])\n"
          "  %q = argmin({2}, axes=[{3}])\n  %m = max({2}, axes=[{3}])\n  return %p, %q, %m\n}}\n",
          rows, length, columns ? "%y" : "%x", columns ? 0 : 1);
      if (!columns) {
        INFO(text);
        CHECK(off_exact(ir::parse(text), {x}) == "");
        continue;
      }
      ir::Array y(f32, {length, rows});
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < length; ++i) y.set(i * rows + r, x.at(r * length + i));
      const std::string down = fmt::format(
          "graph @places(%y: f32[{}, {}]) {{\n  %p = argmax(%y, axes=[0])\n  %q = argmin(%y, axes=[0])\n"
          "  %m = max(%y, axes=[0])\n  return %p, %q, %m\n}}\n",
          length, rows);
      INFO(down);
      CHECK(off_exact(ir::parse(down), {y}) == "");
    }
  }
}

TEST_CASE("NaN and infinities come through a fold from any position") {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (std::int64_t length : {3, 33, 1030, 131080}) {
    const std::string text = fmt::format(
        "graph @special(%x: f32[7, {}]) {{\n  return sum(%x, axes=[1]), max(%x, axes=[1]), min(%x, "
        "axes=[1]), argmax(%x, axes=[1])\n}}\n",
        length);
    for (double value : {nan, infinity, -infinity}) {
      ir::Array x = whole_numbers(f32, {7, length});
      for (std::int64_t row = 0; row < 7; ++row) {
        const std::int64_t at = std::array<std::int64_t, 7>{0,
                                                            1,
                                                            length - 1,
                                                            length - 2,
                                                            length / 2,
                                                            length / 3,
                                                            length * 31 / 32}[static_cast<std::size_t>(row)];
        x.set(row * length + at, ir::Scalar::from_real(f32, value));
      }
      x.set(0, ir::Scalar::from_real(f32, -value));
      INFO(text << value);
      CHECK(off_exact(ir::parse(text), {x}) == "");
    }
  }
}

TEST_CASE("folding nothing gives the identity, in every layout, and NaN for a mean") {
  const std::string text =
      "graph @nothing(%x: f32[3, 0, 5], %y: f32[0, 70], %z: f32[4, 0], %e: int32[0]) {\n"
      "  %sum = sum(%x, axes=[1])\n  %prod = prod(%y, axes=[0])\n  %any = any(%z, axes=[1])\n  %all = "
      "all(%z, axes=[1])\n"
      "  %mean = div(sum(%z, axes=[1]), 0)\n  %whole = sum(%e)\n  %both = sum(permute_dims(%x, axes=[2, 0, "
      "1]), axes=[0, 2], keepdims=true)\n"
      "  %rest = sub(%x, reshape(%both, shape=[3, 1, 1]))\n  return %sum, %prod, %any, %all, %mean, %whole, "
      "%both, %rest\n}\n";
  CHECK(off_exact(ir::parse(text), {ir::Array(f32, {3, 0, 5}), ir::Array(f32, {0, 70}),
                                    ir::Array(f32, {4, 0}), ir::Array(int32, {0})}) == "");
  CHECK_THROWS_AS(ir::parse("graph @g(%x: f32[3, 0]) {\n  return max(%x, axes=[1])\n}\n"), ValueError);
}

TEST_CASE("rows of no elements with something stored at each element") {
  // The axes that are folded do not lie side by side in memory, so that rows are walked in runs.
  const std::string text =
      "graph @empty(%x: f32[4, 3, 0]) {\n  %s = sum(%x, axes=[0, 2], keepdims=true)\n  return %s, add(%x, "
      "%s)\n}\n";
  CHECK(off_exact(ir::parse(text), {ir::Array(f32, {4, 3, 0})}) == "");
}

TEST_CASE("strict: what else a kernel reads does not decide the order in which axes are folded") {
  for (std::int64_t n : {10, 7, 32}) {
    ir::Array x(f32, {3, 6, n}), y(f32, {6, 1});
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.set(i, ir::Scalar::from_real(f32, std::ldexp(static_cast<double>((i * 7919) % 1000003 - 500000),
                                                     static_cast<int>(i % 37) - 18)));
    for (std::int64_t i = 0; i < 6; ++i)
      y.set(i, ir::Scalar::from_real(f32, 1.0 + static_cast<double>(i) / 8));
    const std::string inputs = fmt::format("%x: f32[3, 6, {}]", n);
    // Fused, the folded axes cannot be joined, since y runs along one of them; of what is stored they can.
    const std::string fused = fmt::format(
                          "graph @fused({}, %y: f32[6, 1]) {{\n  return sum(mul(%x, %y), axes=[1, 2])\n}}\n",
                          inputs),
                      first = fmt::format("graph @first({}, %y: f32[6, 1]) {{\n  return mul(%x, %y)\n}}\n",
                                          inputs),
                      second =
                          fmt::format("graph @second({}) {{\n  return sum(%x, axes=[1, 2])\n}}\n", inputs);
    const auto run = [&](const std::string& text, const std::vector<ir::Array>& arrays) {
      return run_program(ir::parse(text), arrays, in_mode(Numerics::strict))[0];
    };
    CHECK(mismatch_in_bits(run(fused, {x, y}), run(second, {run(first, {x, y})})) == "");
  }
}

TEST_CASE("strict: a sum has the same bits whichever schedule folds it") {
  for (std::int64_t n : {7, 33, 1000, 1025, 5000, 131072, 150001}) {
    // Three rows of numbers of very different size.
    ir::Array x(f32, {3, n});
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.set(i, ir::Scalar::from_real(f32, std::ldexp(static_cast<double>((i * 7919) % 1000003 - 500000),
                                                     static_cast<int>(i % 37) - 18)));
    ir::Array columns(f32, {n, 3}), wide(f32, {n, 9}), apart(f32, {3, 2 * n});
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t i = 0; i < n; ++i) {
        columns.set(i * 3 + r, x.at(r * n + i));
        wide.set(i * 9 + r, x.at(r * n + i));
        apart.set(r * 2 * n + 2 * i, x.at(r * n + i));
      }
    auto sums = [&](const std::string& text, const ir::Array& input) {
      INFO(text);
      return run_program(ir::parse(text), std::vector{input}, in_mode(Numerics::strict))[0];
    };
    const ir::Array rows =
        sums(fmt::format("graph @g(%x: f32[3, {}]) {{\n  return sum(%x, axes=[1])\n}}\n", n), x);
    CHECK(mismatch_in_bits(
              sums(fmt::format("graph @g(%x: f32[{}, 3]) {{\n  return sum(%x, axes=[0])\n}}\n", n), columns),
              rows) == "");
    CHECK(
        mismatch_in_bits(
            sums(fmt::format(
                     "graph @g(%x: f32[3, {}]) {{\n  return sum(slice(%x, ranges=[:, ::2]), axes=[1])\n}}\n",
                     2 * n),
                 apart),
            rows) == "");
    CHECK(
        mismatch_in_bits(
            sums(fmt::format(
                     "graph @g(%x: f32[{}, 9]) {{\n  return slice(sum(%x, axes=[0]), ranges=[:3])\n}}\n", n),
                 wide),
            rows) == "");
    if (n < 64) {
      ir::Array tall(f32, {70, n});
      std::memcpy(tall.data.data(), x.data.data(), x.data.size());
      CHECK(mismatch_in_bits(
                sums(fmt::format(
                         "graph @g(%x: f32[70, {}]) {{\n  return slice(sum(%x, axes=[1]), ranges=[:3])\n}}\n",
                         n),
                     tall),
                rows) == "");
    }
    if (n % 2 != 0) continue;
    ir::Array halves(f32, {2, 3, n / 2});
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t i = 0; i < n; ++i)
        halves.set((i / (n / 2) * 3 + r) * (n / 2) + i % (n / 2), x.at(r * n + i));
    CHECK(mismatch_in_bits(
              sums(fmt::format("graph @g(%x: f32[2, 3, {}]) {{\n  return sum(%x, axes=[0, 2])\n}}\n", n / 2),
                   halves),
              rows) == "");
  }
}

TEST_CASE("no sum runs over a whole long row") {
  // One after the other, these would be off by hundreds of ulp.
  struct Case {
    const char *shape, *axis;
    std::int64_t rows, columns;
  };
  for (const Case& c : {Case{"300000, 8", "0", 300000, 8}, Case{"1, 4000000", "1", 1, 4000000}}) {
    ir::Array x(DType::f32, {c.rows, c.columns});
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, ir::Scalar::from_real(DType::f32, 0.1));
    const std::string text =
        fmt::format("graph @g(%x: f32[{}]) {{\n  return sum(%x, axes=[{}])\n}}\n", c.shape, c.axis);
    INFO(text);
    const std::vector<ir::Array> got = run_program(ir::parse(text), std::vector{x});
    const double expected = static_cast<double>(x.elements() / got[0].elements()) * static_cast<double>(0.1f);
    CHECK(std::fabs(static_cast<double>(got[0].at(0).real()) - expected) <= 2e-6 * expected);
  }
}
