#include "ir/shape.h"

#include <limits>

#include "sinter/error.h"
#include "tests/catch.h"

using namespace sinter;
using namespace sinter::ir;
using Catch::Matchers::ContainsSubstring;

namespace {

const Dim m = Dim::symbol("M"), n = Dim::symbol("N");

}  // namespace

TEST_CASE("lengths are equal when their polynomials are") {
  CHECK(m * n + 2 == Dim(2) + n * m);
  CHECK((m + 1) * (m - 1) == m * m - 1);
  CHECK(m - m == Dim(0));
  CHECK((m - m).is(0));
  CHECK_FALSE(m == n);
  CHECK_FALSE(m == Dim(1));
  CHECK((m * n + 2).hash() == (Dim(2) + n * m).hash());
}

TEST_CASE("lengths print and read back") {
  for (const Dim& d :
       {Dim(0), Dim(-3), Dim(4096), m, m * n * 2 + 3, m * m - n + 1, Dim(0) - m, Dim(7) - m * 2}) {
    INFO(d.str());
    CHECK(parse_dim(d.str()) == d);
  }
  CHECK((m * n * 2 + 3).str() == "2*M*N + 3");
  CHECK(parse_dim(" 2 * M+M - 1") == m * 3 - 1);
}

TEST_CASE("what is no length is refused") {
  for (const char* text : {"", "2*", "M N", "1 +", "?", "2^M", "99999999999999999999", "M*", "(M)"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_dim(text), Error);
  }
}

TEST_CASE("a symbol is a word") {
  for (const char* name : {"", "2M", "M N", "M*N", "-M", "\u00fc", "M\n"})
    CHECK_THROWS_AS(Dim::symbol(name), ValueError);
  CHECK(Dim::symbol("batch_2").str() == "batch_2");
}

TEST_CASE("lengths divide exactly or not at all") {
  CHECK((m * n * 6).divided_by(n * 2) == m * 3);
  CHECK((m * m - 1).divided_by(m + 1) == m - 1);
  CHECK((m * 4 + 8).divided_by(4) == m + 2);
  CHECK(Dim(12).divided_by(4) == Dim(3));
  CHECK(Dim(0).divided_by(m) == Dim(0));
  CHECK_FALSE(Dim(12).divided_by(5));
  CHECK_FALSE((m * 4 + 2).divided_by(4));
  CHECK_FALSE(m.divided_by(n));
  CHECK_FALSE(m.divided_by(0));
}

TEST_CASE("facts prove divisors of lengths") {
  Facts facts;
  facts.divisor["M"] = 8;
  CHECK(m.known_divisor(facts) == 8);
  CHECK((m * n).known_divisor(facts) == 8);
  CHECK((m * 3 + 4).known_divisor(facts) == 4);
  CHECK((m + n).known_divisor(facts) == 1);
  CHECK(Dim(-12).known_divisor(facts) == 12);
  CHECK(Dim(0).known_divisor(facts) == 0);
}

TEST_CASE("binding replaces the symbols that have a value") {
  CHECK((m * n + m).bind({{"M", 3}, {"N", 4}}).is(15));
  CHECK((m * n + m).bind({{"M", 3}}) == n * 3 + 3);
}

TEST_CASE("a length beyond 63 bits is an error, not a wrong number") {
  const Dim most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(most + 1, ShapeError);
  CHECK_THROWS_AS(most * 2, ShapeError);
  CHECK_THROWS_AS((Shape{most, 3}).elements(), ShapeError);
  CHECK((Shape{most, 3, 0}).elements().is(0));
}

TEST_CASE("shapes count their elements") {
  CHECK(Shape{}.elements().is(1));
  CHECK((Shape{2, 3, 4}).elements().is(24));
  CHECK((Shape{m, 4}).elements() == m * 4);
  CHECK((Shape{m, 0}).is_empty());
  CHECK_FALSE((Shape{m, 1}).is_empty());
  CHECK((Shape{m, 4096}).str() == "[M, 4096]");
  CHECK(Shape{}.str() == "[]");
}

TEST_CASE("shapes broadcast under NumPy's rules") {
  CHECK(broadcast_shapes({2, 1, 4}, {3, 1}, "add") == Shape{2, 3, 4});
  CHECK(broadcast_shapes({}, {m, 4}, "add") == Shape{m, 4});
  CHECK(broadcast_shapes({m, 1}, {1, n}, "add") == Shape{m, n});
  CHECK(broadcast_shapes({0}, {1}, "add") == Shape{0});
  CHECK_THROWS_WITH(
      broadcast_shapes({2, 3}, {4}, "add(f32[2, 3], f32[4])"),
      ContainsSubstring("add(f32[2, 3], f32[4])") && ContainsSubstring("axis -1 has length 3 in one and 4"));
  CHECK_THROWS_AS(broadcast_shapes({m}, {n}, "add"), ShapeError);
}

TEST_CASE("negative axes count from the end") {
  CHECK(normalize_axis(-1, 3, "sum") == 2);
  CHECK(normalize_axis(0, 3, "sum") == 0);
  CHECK_THROWS_WITH(normalize_axis(3, 3, "sum"), ContainsSubstring("axes go from -3 to 2"));
  CHECK_THROWS_AS(normalize_axis(-4, 3, "sum"), ShapeError);
  CHECK_THROWS_AS(normalize_axis(0, 0, "sum"), ShapeError);
}
