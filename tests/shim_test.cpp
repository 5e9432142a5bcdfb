#include <fmt/format.h>
#include "tests/catch.h"
TEST_CASE("a", "[slow]") {
  REQUIRE(Approx(1.0) == 1.0);
}
TEST_CASE("skips, [really] \"quoted\" \\ back*slash*", "[x]") {
  SECTION("one") {
    SINTER_SKIP("no GPU");
  }
  SECTION("two") {
    CHECK(1 == 1);
  }
}
TEST_CASE("fails4") {
  SECTION("one") {
    SINTER_SKIP("no GPU");
  }
  SECTION("two") {
    CHECK(0);
    CHECK(0);
    CHECK(0);
    CHECK(0);
  }
}
TEMPLATE_TEST_CASE("tt", "[exhaustive]", int, float) {
  auto x = GENERATE(values({1, 2, 3}));
  REQUIRE(x);
  CHECK_THROWS_WITH(throw std::runtime_error("abc"), Catch::Matchers::ContainsSubstring("b"));
}
