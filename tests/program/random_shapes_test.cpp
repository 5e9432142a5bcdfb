// Formulas over rows, columns and permuted axes, at random shapes whose lengths lie around those at which
// schedules change.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "tests/program/check.h"
#include "tests/support/drawn.h"
#include "tests/support/random.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

constexpr std::int64_t lengths[] = {1,    2,    3,    7,    8,    15,    16,    17,    31,
                                    32,   33,   63,   64,   65,   100,   127,   128,   129,
                                    255,  256,  257,  500,  512,  1000,  1024,  1025,  2048,
                                    2056, 4096, 4100, 8192, 8193, 16384, 20000, 32768, 70001};
constexpr std::int64_t most_elements = 300000;

/// Lengths of 2 or 3 axes, some of them halved until all together are few enough.
std::vector<std::int64_t> random_shape(Random& random) {
  std::vector<std::int64_t> shape(2 + random.below(2));
  std::int64_t elements = 1;
  for (std::int64_t& n : shape) {
    n = random.pick(lengths);
    while (elements * n > most_elements) n = std::max<std::int64_t>(1, n / 2);
    elements *= n;
  }
  std::swap(shape.front(), shape[random.below(shape.size())]);
  return shape;
}

/// One of the formulas, folding `axis` and, where it folds both, the other axes.
std::string random_formula(Random& random, const std::vector<std::int64_t>& shape) {
  std::vector<std::size_t> order(shape.size()), others;
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t axis = random.below(shape.size());
  for (std::size_t a : order)
    if (a != axis) others.push_back(a);
  std::swap(order[random.below(order.size())], order[random.below(order.size())]);
  const double inverse = 1.0 / static_cast<double>(shape[axis]);
  const std::string permuted = fmt::format("axes=[{}]", fmt::join(order, ", "));
  const std::string formulas[] = {
      "%e = exp(sub(%x, max(%x, axes=[{0}], keepdims=true)))\n"
      "  return div(%e, sum(%e, axes=[{0}], keepdims=true))",
      "%d = sub(%x, mul(sum(%x, axes=[{0}], keepdims=true), {1}))\n"
      "  %v = mul(sum(mul(%d, %d), axes=[{0}], keepdims=true), {1})\n"
      "  return mul(%d, rsqrt(add(%v, 0.001))), sum(%y, axes=[{0}])",
      "%a = sum(mul(%x, %y), axes=[{0}], keepdims=true)\n"
      "  return sub(%x, mul(%y, %a)), sum(%y, axes=[{2}]), max(mul(%x, %y), axes=[{2}])",
      "return argmax(%x, axes=[{0}]), argmin(%y, axes=[{2}]), sum(%x), min(%y, axes=[{0}])",
      "%z = permute_dims(%x, {3})\n"
      "  return add(%z, permute_dims(%y, {3})), mul(tanh(%z), 2), sum(%z, axes=[0])",
      "%m = max(%x, axes=[{0}], keepdims=true)\n"
      "  %s = sum(exp(sub(%x, %m)), axes=[{0}], keepdims=true)\n"
      "  return add(%m, log(%s)), sum(mul(%x, %x), axes=[{0}])",
  };
  return fmt::format(fmt::runtime(random.pick(formulas)), axis, inverse, fmt::join(others, ", "), permuted);
}

}  // namespace

TEST_CASE("formulas over random shapes hold the bounds of the reference") {
  constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const DType t = random.pick(dtypes);
    const std::vector<std::int64_t> shape = random_shape(random);
    const std::string text = fmt::format("graph @shapes(%x: {0}[{1}], %y: {0}[{1}]) {{\n  {2}\n}}\n", name(t),
                                         fmt::join(shape, ", "), random_formula(random, shape));
    const ir::Array x = drawn(t, shape, random), y = drawn(t, shape, random);
    INFO("seed " << seed << "\n" << text);
    CHECK(off_bounds(ir::parse(text), {x, y}, random.chance(0.2) ? Numerics::strict : Numerics::standard) ==
          "");
  }
}
