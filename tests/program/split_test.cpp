// Few long rows, and long columns, which several blocks of a GPU share: every piece counts once, and what is
// folded is right wherever it lies.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

std::string folds(DType t, const std::string& shape, const std::string& axes, bool places) {
  std::string results;
  for (const char* op : {"sum", "max", "min", "any", "all"})
    results += fmt::format("{}{}(%x, axes=[{}])", results.empty() ? "" : ", ", op, axes);
  if (places) results += fmt::format(", argmax(%x, axes=[{0}]), argmin(%x, axes=[{0}])", axes);
  return fmt::format("graph @folds(%x: {}[{}]) {{\n  return {}\n}}\n", name(t), shape, results);
}

ir::Array random_numbers(DType t, std::vector<std::int64_t> shape) {
  ir::Array array(t, std::move(shape));
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.set(i, ir::Scalar::from_real(t, std::sin(static_cast<double>(i * 7919 % 10007)) * 3));
  return array;
}

}  // namespace

TEST_CASE("rows that are shared by blocks are folded right, in every dtype") {
  for (DType t : all_dtypes) {
    const std::string text = folds(t, "3, 40001", "1", true);
    INFO(text);
    CHECK(off_exact(ir::parse(text), {whole_numbers(t, {3, 40001})}) == "");
  }
}

TEST_CASE("one row and several, of lengths that divide evenly and do not") {
  for (std::int64_t rows : {1, 5})
    for (std::int64_t length : {32768, 65537, 100000}) {
      const std::string text = folds(f32, fmt::format("{}, {}", rows, length), "1", true);
      INFO(text);
      for (Numerics numerics : {Numerics::standard, Numerics::strict})
        CHECK(off_exact(ir::parse(text), {whole_numbers(f32, {rows, length})}, numerics) == "");
    }
}

TEST_CASE("products of whole numbers wrap in whatever pieces they are folded") {
  CHECK(off_exact(ir::parse("graph @product(%x: int32[50000]) {\n  return prod(bitwise_or(%x, 1))\n}\n"),
                  {whole_numbers(DType::int32, {50000})}) == "");
}

TEST_CASE("the first of equals and the first NaN are found in whatever piece they lie") {
  constexpr std::int64_t length = 70000;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto set = [&](ir::Array& x, std::int64_t row, std::int64_t at, double v) {
    x.set(row * length + at, ir::Scalar::from_real(f32, v));
  };
  ir::Array x = array_of(f32, {5, length}, std::vector<double>(5 * length, 1));
  set(x, 1, 20000, 2), set(x, 1, 40000, 2), set(x, 1, length - 1, 2);
  set(x, 2, 60000, nan), set(x, 2, 69000, nan), set(x, 2, 10, 5);
  set(x, 3, length - 1, -7);
  for (std::int64_t i = 0; i < length; ++i) set(x, 4, i, -std::numeric_limits<double>::infinity());
  CHECK(off_exact(ir::parse(fmt::format("graph @places(%x: f32[5, {}]) {{\n  return argmax(%x, axes=[1]), "
                                        "argmin(%x, axes=[1]), max(%x, axes=[1]), min(%x, axes=[1])\n}}\n",
                                        length)),
                  {x}) == "");
  ir::Array y(f32, {length, 5});
  for (std::int64_t row = 0; row < 5; ++row)
    for (std::int64_t i = 0; i < length; ++i) y.set(i * 5 + row, x.at(row * length + i));
  CHECK(off_exact(ir::parse(fmt::format("graph @places(%x: f32[{}, 5]) {{\n  return argmax(%x, axes=[0]), "
                                        "argmin(%x, axes=[0]), max(%x, axes=[0]), min(%x, axes=[0])\n}}\n",
                                        length)),
                  {y}) == "");
}

TEST_CASE("long columns are folded right, few and many, in every dtype") {
  for (std::int64_t columns : {1, 3, 8, 33, 64, 260}) {
    const std::int64_t length = 200000 / columns + 11;
    const std::string text = folds(f32, fmt::format("{}, {}", length, columns), "0", columns < 64);
    INFO(text);
    CHECK(off_exact(ir::parse(text), {whole_numbers(f32, {length, columns})}) == "");
  }
  for (DType t : all_dtypes) {
    const std::string text = folds(t, "5003, 16", "0", true);
    INFO(text);
    CHECK(off_exact(ir::parse(text), {whole_numbers(t, {5003, 16})}) == "");
  }
}

TEST_CASE("sums and sums of squares are folded in one kernel, over mixed axes too") {
  for (const char* axes : {"0, 2, 3", "0, 2", "1, 2", "0, 1, 2", "0, 3", "1"}) {
    const std::string text = fmt::format(
        "graph @moments(%x: f32[6, 10, 71, 20]) {{\n  %s = sum(%x, axes=[{0}])\n  %q = sum(mul(%x, %x), "
        "axes=[{0}])\n  return %s, %q\n}}\n",
        axes);
    INFO(text);
    CHECK(off_exact(ir::parse(text), {whole_numbers(f32, {6, 10, 71, 20})}) == "");
  }
}

TEST_CASE("few long rows and columns whose folds are needed at every element") {
  struct Case {
    const char* shape;
    std::vector<std::int64_t> lengths;
    int axis;
  };
  const Case cases[] = {
      {"2, 135000", {2, 135000}, 1}, {"90001, 3", {90001, 3}, 0}, {"40000, 8", {40000, 8}, 0}};
  const char* const bodies[] = {
      "%e = exp(sub(%x, max(%x, axes=[A], keepdims=true)))\n  return div(%e, sum(%e, axes=[A], "
      "keepdims=true))",
      "%d = sub(%x, div(sum(%x, axes=[A], keepdims=true), N))\n  %v = div(sum(mul(%d, %d), axes=[A], "
      "keepdims=true), N)\n  return mul(%d, rsqrt(add(%v, 1e-5))), %v",
      "%s = add(%x, 0.5)\n  return %s, mul(%s, rsqrt(div(sum(mul(%s, %s), axes=[A], keepdims=true), N)))"};
  for (const Case& c : cases)
    for (std::string body : bodies) {
      const auto put = [&](const std::string& what, std::int64_t number) {
        for (std::size_t at; (at = body.find(what)) != std::string::npos;)
          body.replace(at, what.size(), std::to_string(number));
      };
      put("A", c.axis);
      put("N", c.lengths[static_cast<std::size_t>(c.axis)]);
      const std::string text = fmt::format("graph @again(%x: f32[{}]) {{\n  {}\n}}\n", c.shape, body);
      INFO(text);
      CHECK(off_bounds(ir::parse(text), {random_numbers(f32, c.lengths)}, Numerics::standard) == "");
    }
}

TEST_CASE("columns of every class of length are folded where their folds are needed again") {
  for (std::int64_t length : {7, 64, 700, 2048, 5000})
    for (std::int64_t columns : {4, 13, 40}) {
      const std::string text = fmt::format(
          "graph @columns(%x: bf16[{}, {}], %w: bf16[{}]) {{\n  %e = exp(sub(%x, max(%x, axes=[0], "
          "keepdims=true)))\n  return mul(div(%e, sum(%e, axes=[0], keepdims=true)), %w)\n}}\n",
          length, columns, columns);
      INFO(text);
      CHECK(off_bounds(ir::parse(text),
                       {random_numbers(bf16, {length, columns}), random_numbers(bf16, {columns})},
                       Numerics::standard) == "");
    }
}
