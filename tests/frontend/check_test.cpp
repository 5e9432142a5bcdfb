// What SINTER_CHECK=1 finds: indices out of range, wherever they come from.
#include "tests/catch.h"
#include "tests/frontend/environment.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const Tensor& table() {
  static const Tensor x = floats({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {3, 4});
  return x;
}

}  // namespace

TEST_CASE("SINTER_CHECK=1 makes indices out of range an error, with the line and the place") {
  const Environment check("SINTER_CHECK", "1");
  const Tensor x = table(), at = ints({2, -3, 3, 5});
  CHECK_THROWS_AS(take(x, at, 0), ValueError);
  CHECK_THROWS_WITH(take(x, at, 0),
                    ContainsSubstring("take(f32[3, 4], int64[4]): the index 3 at [2] is out of "
                                      "range for axis 0 of length 3") &&
                        ContainsSubstring("check_test.cpp:"));
  CHECK_THROWS_WITH(take(x, 7, 0), ContainsSubstring("the index 7 at []"));
  CHECK_THROWS_WITH(take(x, -5, 1),
                    ContainsSubstring("the index -5 at [] is out of range for axis 1 of length 4"));
  const Tensor along = from_vector<std::int64_t>({0, 1, -4, 3, 0, 4}, {3, 2});
  CHECK_THROWS_WITH(take_along_axis(x, along, 1), ContainsSubstring("the index 4 at [2, 1]"));
  CHECK_THROWS_WITH(take_along_axis(x, along.astype(int32), 1), ContainsSubstring("the index 4 at [2, 1]"));
  CHECK_THROWS_WITH(take(zeros({0, 2}), ints({0}), 0), ContainsSubstring("of length 0"));
  CHECK_THROWS_WITH(cross_entropy(x, ints({0, 4, 1})), ContainsSubstring("the index 4 at [1, 0]"));
}

TEST_CASE("SINTER_CHECK=1 finds computed indices out of range in compiled functions") {
  const Environment check("SINTER_CHECK", "1");
  for (const Numerics numerics : {Numerics::standard, Numerics::strict}) {
    const auto f = compile([](Tensor x, Tensor i) { return exp(take(x, i * 2 - 1, 0)) + 1.0; },
                           {.numerics = numerics, .name = "rows"});
    CHECK(f(table(), ints({0, 1})).shape() == Shape{2, 4});
    CHECK_THROWS_WITH(f(table(), ints({1, 2})), ContainsSubstring("take(f32[3, 4], int64[2])") &&
                                                    ContainsSubstring("the index 3 at [1]") &&
                                                    ContainsSubstring("check_test.cpp:"));
    CHECK_THROWS_WITH(f(table(), ints({-2, 2})), ContainsSubstring("the index -5 at [0]"));
    CHECK(f(table(), ints({1, 1})).shape() == Shape{2, 4});  // nothing of it stays behind
  }
  const auto two = compile([](Tensor x, Tensor i) {
    return std::vector<Tensor>{take(x, i, 0), take(x, argmax(x, {.axes = 1}) + i, 1)};
  });
  CHECK_THROWS_WITH(two(table(), ints({0, 0, 2})), ContainsSubstring("the index 5 at [2]"));
}

TEST_CASE("SINTER_CHECK=1 finds slices that a scatter would drop") {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  CHECK(numbers(scatter_add(x, ints({-1, 3}), 3)) == std::vector<double>{0, 0, 0, 0, 1, 2});
  const Environment check("SINTER_CHECK", "1");
  CHECK(numbers(scatter_add(x, ints({-1, 2}), 3)) == std::vector<double>{0, 0, 0, 0, 4, 6});
  CHECK_THROWS_WITH(scatter_add(x, ints({-1, 3}), 3),
                    ContainsSubstring("the index 3 at [1] is out of range for axis 0 of length 3"));
  const auto f = compile([](Tensor x, Tensor i) { return scatter_add(x * 2.0, i - 1, 3) + 1.0; });
  CHECK(numbers(f(x, ints({1, 3}))) == std::vector<double>{3, 5, 1, 1, 7, 9});
  CHECK_THROWS_WITH(f(x, ints({-3, 3})), ContainsSubstring("the index -4 at [0]"));
}

TEST_CASE("SINTER_CHECK=1 leaves results as they are") {
  const Tensor x = table(), at = ints({2, -3, 0, -1});
  const auto rows = [](Tensor x, Tensor i) { return take(x, i, 0) * 2.0 + sum(take(x, i, 1)); };
  const Tensor plain = rows(x, at);
  const Environment check("SINTER_CHECK", "1");
  CHECK(same_bits(rows(x, at), plain));
  CHECK(same_bits(compile(rows)(x, at), plain));
  CHECK(take(x, ints({}), 0).shape() == Shape{0, 4});
}

TEST_CASE("SINTER_CHECK=1 holds for the evaluators, too") {
  const GraphFunction f =
      GraphFunction::parse("graph @pick(%x: f32[3, N], %i: int64[2]) {\n  return take(%x, %i, axis=0)\n}\n");
  const Evaluator which = GENERATE(Evaluator::typed, Evaluator::reference);
  const std::vector<Tensor> inside{table(), ints({-3, 2})}, outside{table(), ints({0, -4})};
  CHECK(text(f.evaluate(outside, which)[0]) == text({1, 2, 3, 4, qnan, qnan, qnan, qnan}));
  const Environment check("SINTER_CHECK", "1");
  CHECK(numbers(f.evaluate(inside, which)[0]) == std::vector<double>{1, 2, 3, 4, 9, 10, 11, 12});
  CHECK(f.evaluate(inside, which).size() == 1);
  CHECK_THROWS_WITH(f.evaluate(outside, which),
                    ContainsSubstring("pick: take(f32[3, 4], int64[2]): the index -4 at [1]"));
}
