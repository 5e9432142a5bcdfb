// Concats of few and of many tensors at random: of any length along the axis, with what is computed before
// and after. Results are exact.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/program/check.h"
#include "tests/support/random.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

struct Joined {
  std::string text;
  std::vector<ir::Array> arrays;
};

Joined random_concat(Random& random) {
  constexpr DType dtypes[] = {f32, bf16, uint8, f64, DType::int64};
  constexpr std::int64_t lengths[] = {1, 2, 3, 4, 8, 16, 33, 100}, any[] = {0, 1, 2, 3, 5, 16, 40, 700};
  const std::int64_t count = random.chance(0.3) ? random.between(2, 8) : random.between(9, 60);
  const auto rank = static_cast<std::size_t>(random.between(1, 3)), axis = random.below(rank);
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(random.pick(lengths));
  const DType t = random.pick(dtypes);
  const std::int64_t same = random.pick(lengths), before = random.between(0, 3), along = random.between(0, 3);
  Joined joined;
  std::string inputs, body, names;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t n = 1;
    if (along == 0) n = same;
    if (along == 1) n = 4 * random.between(0, 10);
    if (along == 2) n = random.pick(any);
    if (rank == 3) n = std::min<std::int64_t>(n, 40);
    total += n;
    shape[axis] = n;
    joined.arrays.push_back(whole_numbers(t, shape, static_cast<int>(i)));
    inputs += fmt::format("%x{}: {}[{}], ", i, name(t), fmt::join(shape, ", "));
    std::string part = fmt::format("%x{}", i);
    if (before == 1 || (before == 2 && i % 3 == 0)) part = fmt::format("mul(%x{}, 2)", i);
    if (before == 3 && i % 2 == 1) part = fmt::format("flip(%x{}, axes=[{}])", i, axis);
    body += fmt::format("%p{} = {}\n  ", i, part.starts_with('%') ? fmt::format("add({}, 0)", part) : part);
    names += fmt::format("%p{}, ", i);
  }
  shape[axis] = total;
  joined.arrays.push_back(whole_numbers(t, shape, 99));
  inputs += fmt::format("%y: {}[{}]", name(t), fmt::join(shape, ", "));
  std::vector<std::size_t> reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(i);
  const std::string after[] = {"%c",
                               "mul(%c, 3)",
                               "add(%c, %y), maximum(%c, 2)",
                               fmt::format("flip(%c, axes=[{}])", axis),
                               fmt::format("mul(permute_dims(%c, axes=[{}]), 2)", fmt::join(reversed, ", ")),
                               fmt::format("minimum(%c, sum(%y, axes=[{}], keepdims=true)), %c", rank - 1),
                               fmt::format("sum(cast(%c, dtype=f64), axes=[{}])", axis)};
  joined.text = fmt::format("graph @joins({}) {{\n  {}%c = concat({}axis={})\n  return {}\n}}\n", inputs,
                            body, names, axis, random.pick(after));
  return joined;
}

}  // namespace

TEST_CASE("random concats hold the reference's elements") {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Random random(seed);
    const Joined joined = random_concat(random);
    INFO("seed " << seed << "\n" << joined.text);
    CHECK(off_exact(ir::parse(joined.text), joined.arrays,
                    random.chance(0.2) ? Numerics::strict : Numerics::standard) == "");
  }
}
