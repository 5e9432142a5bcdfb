// Reductions that a GPU folds along with the maximum or minimum that they depend on: rows of every length,
// in each way of dividing them among threads, and the values at which rescaling goes wrong.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// What is made of rows %x, shifted by their maximum %m, and a number %k for every row.
constexpr const char* formulas =
    "%m = max(%x, axes=[1], keepdims=true)\n"
    "  %d = sub(%x, %m)\n"
    "  %e = exp(%d)\n"
    "  %s = sum(%e, axes=[1], keepdims=true)\n"
    "  %h = sum(exp(mul(%d, %k)), axes=[1], keepdims=true)\n"
    "  %q = sum(exp(mul(%d, 0.25)), axes=[1], keepdims=true)\n"
    "  %i = isinf(%m)\n"
    "  %z = sum(exp(sub(%x, where(%i, 0, %m))), axes=[1], keepdims=true)\n"
    "  %n = min(%x, axes=[1], keepdims=true)\n"
    "  %u = sum(exp2(mul(0.5, sub(%n, %x))), axes=[1], keepdims=true)\n";
/// Log-sum-exp; sums with other powers; sums over a guarded maximum, and over the minimum.
constexpr const char* results = "where(%i, %m, add(%m, log(%s))), %h, %q, add(%m, log(%z)), %u";

ir::Graph graph_of(std::int64_t rows, std::int64_t cols, const std::string& more = "") {
  return ir::parse(
      fmt::format("graph @joined(%x: f32[{0}, {1}], %k: f32[{0}, 1]) {{\n  {2}  return {3}{4}\n}}\n", rows,
                  cols, formulas, results, more));
}

/// What is off about rows that are read once, and about softmax, which reads them again; or nothing.
std::string off(std::int64_t rows, std::int64_t cols, const std::vector<ir::Array>& inputs) {
  return off_bounds(graph_of(rows, cols), inputs, Numerics::standard) +
         off_bounds(graph_of(rows, cols, ", div(%e, %s)"), inputs, Numerics::standard);
}

ir::Array numbers(std::int64_t rows, std::int64_t cols, double scale, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  ir::Array x(f32, {rows, cols});
  for (std::int64_t i = 0; i < x.elements(); ++i)
    x.set(i, ir::Scalar::from_real(f32, scale * normal(random)));
  return x;
}

ir::Array powers(std::int64_t rows) {
  ir::Array k(f32, {rows, 1});
  for (std::int64_t i = 0; i < rows; ++i)
    k.set(i, ir::Scalar::from_real(f32, 0.25 * static_cast<double>(i % 5 + 1)));
  return k;
}

/// Rows all of which, or one place of which, are infinite, NaN or very large.
ir::Array extremes(DType t, std::int64_t cols) {
  struct Row {
    double all;  // nothing: 0
    double one;
    std::int64_t at;
  };
  const double large = t == f16 ? 6e4 : 3e38;
  std::vector<Row> kinds{{-inf, -inf, 0},          {inf, inf, 0},  {not_a_number, not_a_number, 0},
                         {-inf, 2.0, cols - 1},    {-inf, 2.0, 0}, {0, -inf, 0},
                         {large, -large, cols / 2}};
  for (double one : {inf, -inf, not_a_number})
    for (std::int64_t at : {std::int64_t{0}, cols / 3, cols - 1}) kinds.push_back({0, one, at});
  const auto rows = static_cast<std::int64_t>(kinds.size());
  const ir::Array drawn = numbers(rows, cols, 2);
  ir::Array x(t, {rows, cols});
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const Row& kind = kinds[static_cast<std::size_t>(i / cols)];
    const double own = i % cols == kind.at ? kind.one : kind.all;
    const bool given = i % cols == kind.at || kind.all != 0;
    x.set(i, ir::Scalar::from_real(t, given ? own : drawn.at(i).real()));
  }
  return x;
}

constexpr std::int64_t lengths[] = {1, 5, 300, 4096, 5000, 20000, 40001};

}  // namespace

TEST_CASE("sums of exponentials over rows of every length") {
  for (std::int64_t cols : lengths)
    for (double scale : {1.0, 40.0}) {
      INFO(cols << " columns, scaled by " << scale);
      const std::int64_t rows = 3;
      CHECK(off(rows, cols, {numbers(rows, cols, scale), powers(rows)}) == "");
    }
}

TEST_CASE("sums of exponentials over rising and falling rows") {
  for (std::int64_t cols : {4096, 40001}) {
    ir::Array x(f32, {2, cols});
    for (std::int64_t i = 0; i < cols; ++i) {
      x.set(i, ir::Scalar::from_real(f32, 1e-3 * static_cast<double>(i)));
      x.set(cols + i, ir::Scalar::from_real(f32, 1e4 - 1e-3 * static_cast<double>(i)));
    }
    INFO(cols << " columns");
    CHECK(off(2, cols, {x, powers(2)}) == "");
  }
}

TEST_CASE("sums of exponentials of rows with infinities and NaN at any place") {
  for (std::int64_t cols : {5, 300, 5000, 20000}) {
    const ir::Array x = extremes(f32, cols);
    INFO(cols << " columns");
    CHECK(off(x.shape[0], cols, {x, powers(x.shape[0])}) == "");
  }
}

TEST_CASE("rows of 16 bits with infinities and NaN at any place, whose terms are stored, too") {
  // One stretch of each thread's, several of them, and rows whose last threads have less.
  for (DType t : {bf16, f16})
    for (std::int64_t cols : {9000, 10008, 16384}) {
      const ir::Array x = extremes(t, cols);
      const ir::Graph graph = ir::parse(fmt::format(
          "graph @softmax(%x: {0}[{1}, {2}]) {{\n  %y = cast(%x, dtype=f32)\n  %e = exp(sub(%y, max(%y, "
          "axes=[1], keepdims=true)))\n  %s = sum(%e, axes=[1], keepdims=true)\n  return cast(div(%e, %s), "
          "dtype={0}), cast(%e, dtype={0})\n}}\n",
          name(t), x.shape[0], cols));
      INFO(name(t) << ", " << cols << " columns");
      CHECK(off_bounds(graph, {x}, Numerics::standard) == "");
    }
}

TEST_CASE("powers of any sign are rescaled") {
  for (std::int64_t cols : {300, 20000}) {
    const std::int64_t rows = 6;
    ir::Array x = numbers(rows, cols, 3), k(f32, {rows, 1});
    const double values[] = {1, -1, 0, -0.125, 1e-30, -30};
    for (std::int64_t i = 0; i < rows; ++i) k.set(i, ir::Scalar::from_real(f32, values[i]));
    for (std::int64_t i = 0; i < 2 * cols; ++i)
      if (i % 3 != 1) x.set(i, ir::Scalar::from_real(f32, -inf));
    INFO(cols << " columns");
    CHECK(off(rows, cols, {x, k}) == "");
  }
}

TEST_CASE("masked sums of exponentials") {
  for (const char* x : {"f32", "bf16"})
    for (std::int64_t cols : {300, 5000, 20000}) {
      const std::int64_t rows = 4;
      const ir::Graph g =
          ir::parse(fmt::format("graph @masked(%x: {2}[{0}, {1}], %c: bool[{0}, {1}]) {{\n"
                                "  %y = cast(%x, dtype=f32)\n"
                                "  %m = max(where(%c, %y, -inf), axes=[1], keepdims=true)\n"
                                "  %e = where(%c, exp(sub(%y, %m)), 0)\n"
                                "  %s = sum(%e, axes=[1], keepdims=true)\n"
                                "  %t = max(%y, axes=[1], keepdims=true)\n"
                                "  %w = mul(exp(sub(%y, %t)), cast(%c, dtype=f32))\n"
                                "  %v = sum(%w, axes=[1], keepdims=true)\n"
                                "  return cast(div(%e, %s), dtype={2}), %s, %v\n}}\n",
                                rows, cols, x));
      ir::Array values(g.dtype(g.inputs()[0]), {rows, cols}), mask(boolean, {rows, cols});
      const ir::Array drawn = numbers(rows, cols, 8);
      for (std::int64_t i = 0; i < rows * cols; ++i) {
        values.set(i, ir::Scalar::from_real(values.dtype, static_cast<double>(drawn.at(i).real())));
        // All of the first row, none of the second, the end of the third, one in seven of the last.
        const std::int64_t row = i / cols, at = i % cols;
        mask.set(i, ir::Scalar::from_whole(
                        boolean, row == 0 || (row == 2 && at > cols - 5) || (row == 3 && at % 7 == 3)));
      }
      INFO(x << ", " << cols << " columns");
      CHECK(off_bounds(g, {values, mask}, Numerics::standard) == "");
    }
}

TEST_CASE("sums of exponentials over columns") {
  for (std::int64_t rows : {40, 3000}) {
    const std::int64_t cols = 33;
    const ir::Graph g = ir::parse(
        fmt::format("graph @columns(%x: f32[{}, {}]) {{\n  %m = max(%x, axes=[0], keepdims=true)\n  %e = "
                    "exp(sub(%x, %m))\n"
                    "  %s = sum(%e, axes=[0], keepdims=true)\n  return div(%e, %s), add(%m, log(%s))\n}}\n",
                    rows, cols));
    ir::Array x = numbers(rows, cols, 3);
    for (std::int64_t i = 0; i < rows; ++i) {
      x.set(i * cols, ir::Scalar::from_real(f32, -inf));
      if (i % 20 != 17) x.set(i * cols + 1, ir::Scalar::from_real(f32, -inf));
    }
    x.set(7 * cols + 2, ir::Scalar::from_real(f32, not_a_number));
    INFO(rows << " rows");
    CHECK(off_bounds(g, {x}, Numerics::standard) == "");
  }
}

TEST_CASE("sums of exponentials of f64 and the 16-bit dtypes") {
  for (const char* t : {"f64", "f16", "bf16"})
    for (std::int64_t cols : {300, 5000, 20000}) {
      const ir::Graph g = ir::parse(
          fmt::format("graph @typed(%x: {0}[2, {1}]) {{\n  %m = max(%x, axes=[1], keepdims=true)\n  %e = "
                      "exp(sub(%x, %m))\n"
                      "  %s = sum(%e, axes=[1], keepdims=true)\n  return div(%e, %s), add(%m, log(%s))\n}}\n",
                      t, cols));
      const ir::Array drawn = numbers(2, cols, 3);
      ir::Array x(g.dtype(g.inputs()[0]), {2, cols});
      for (std::int64_t i = 0; i < x.elements(); ++i)
        x.set(i, ir::Scalar::from_real(x.dtype, static_cast<double>(drawn.at(i).real())));
      INFO(t << ", " << cols << " columns");
      CHECK(off_bounds(g, {x}, Numerics::standard) == "");
    }
}

namespace {

/// Mean and variance, and what more is asked for.
ir::Graph deviations_of(std::int64_t rows, std::int64_t cols, std::string_view dtype,
                        const std::string& more = "") {
  return ir::parse(
      fmt::format("graph @deviations(%x: {2}[{0}, {1}]) {{\n"
                  "  %z = cast(%x, dtype={3})\n"
                  "  %m = div(sum(%z, axes=[1], keepdims=true), {1})\n"
                  "  %d = sub(%z, %m)\n"
                  "  %v = div(sum(mul(%d, %d), axes=[1], keepdims=true), {1})\n"
                  "  %y = cast(div(%d, sqrt(add(%v, 1e-5))), dtype={2})\n"
                  "  return %m, %v{4}\n}}\n",
                  rows, cols, dtype, dtype == "f64" ? "f64" : "f32", more));
}

/// The numbers of an array, as another dtype has them.
ir::Array rounded(const ir::Array& x, DType t) {
  ir::Array y(t, x.shape);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    y.set(i, ir::Scalar::from_real(t, static_cast<double>(x.at(i).real())));
  return y;
}

}  // namespace

TEST_CASE("means and squared distances from them over rows of every length") {
  for (const char* t : {"f32", "bf16", "f64"})
    for (std::int64_t cols : lengths) {
      INFO(t << ", " << cols << " columns");
      for (const char* more : {"", ", %y"}) {
        const ir::Graph g = deviations_of(3, cols, t, more);
        CHECK(off_bounds(g, {rounded(numbers(3, cols, 5), g.dtype(g.inputs()[0]))}, Numerics::standard) ==
              "");
      }
    }
}

TEST_CASE("means and squared distances from them over rows that many blocks share") {
  for (std::int64_t cols : {131072, 150001}) {
    INFO(cols << " columns");
    CHECK(off_bounds(deviations_of(2, cols, "f32", ", %y"), {numbers(2, cols, 5)}, Numerics::standard) == "");
  }
}

TEST_CASE("means and squared distances from them over several axes that lie apart") {
  struct Rows {
    std::vector<std::int64_t> shape;
    const char* axes;
    std::int64_t count;  // of rows
  };
  const Rows kinds[] = {
      {{60, 3, 700}, "0, 2", 3}, {{40, 3, 30, 5, 11}, "0, 2, 4", 15}, {{3, 130, 2, 170}, "1, 3", 6}};
  for (const Rows& rows : kinds) {
    std::int64_t elements = 1;
    for (std::int64_t n : rows.shape) elements *= n;
    const std::string text = fmt::format(
        "graph @apart(%x: f32[{0}]) {{\n"
        "  %m = div(sum(%x, axes=[{1}], keepdims=true), {2})\n"
        "  %d = sub(%x, %m)\n"
        "  %v = div(sum(mul(%d, %d), axes=[{1}], keepdims=true), {2})\n"
        "  return %v, div(%d, sqrt(add(%v, 1e-5)))\n}}\n",
        fmt::join(rows.shape, ", "), rows.axes, elements / rows.count);
    ir::Array x = numbers(1, elements, 5);
    x.shape = rows.shape;
    INFO(text);
    CHECK(off_bounds(ir::parse(text), {x}, Numerics::standard) == "");
  }
}

TEST_CASE("the variance of large numbers that differ little is right") {
  // What joins has sums of small numbers; others have a mean that is rounded.
  const bool on_gpu = program_runner().target.backend == codegen::Backend::cuda;
  for (const auto& [cols, error] :
       {std::pair{5000, 1e-3}, {40001, on_gpu ? 1e-5 : 1e-3}, {140000, on_gpu ? 1e-5 : 1e-3}}) {
    ir::Array x = numbers(1, cols, 0.01);
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.set(i, ir::Scalar::from_real(f32, 1e4 + static_cast<double>(x.at(i).real())));
    const ir::Graph g = deviations_of(1, cols, "f32");
    const ir::Array got =
        run_program(ir::without_dead_nodes(g), std::vector<ir::Array>{x}, in_mode(Numerics::standard))[1];
    const ir::Exact expected = ir::evaluate_reference(g, std::vector<ir::Array>{x})[1];
    const double right = static_cast<double>(expected.at(0).real());
    INFO(cols << " columns");
    CHECK(std::abs(static_cast<double>(got.at(0).real()) - right) < error * right);
  }
}

TEST_CASE("the variance of rows with infinities, NaN and outliers at any place") {
  for (std::int64_t cols : {300, 20000}) {
    const double ones[] = {inf, -inf, not_a_number, 1e15, -3e38};
    const std::int64_t places[] = {0, 7, cols - 1};
    ir::Array x = numbers(15, cols, 1);
    for (std::int64_t row = 0; row < 15; ++row)
      x.set(row * cols + places[row / 5], ir::Scalar::from_real(f32, ones[row % 5]));
    INFO(cols << " columns");
    CHECK(off_bounds(deviations_of(15, cols, "f32"), {x}, Numerics::standard) == "");
  }
}
