#include "ir/bind.h"

#include "ir/evaluate_typed.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/arrays.h"

using namespace sinter;
using namespace sinter::ir;
using Catch::Matchers::ContainsSubstring;

namespace {

Graph symbolic() {
  return parse(
      "graph @g(%x: f32[M, N], %y: f32[N]) where M % 8 == 0, M >= 1 {\n"
      "  %0 = add(%x, %y)\n"
      "  %1 = slice(%0, ranges=[::-1])\n"
      "  %2 = pad(%1, before=[0, 1], after=[N, 0])\n"
      "  %3 = reshape(%2, shape=[-1])\n"
      "  return %3\n"
      "}");
}

}  // namespace

TEST_CASE("binding replaces symbols in shapes and attributes") {
  const Graph g = bind(symbolic(), {{"M", 8}, {"N", 2}});
  verify(g);
  CHECK(print(g) == print(parse("graph @g(%x: f32[8, 2], %y: f32[2]) {\n"
                                "  %0 = broadcast_to(%y, shape=[8, 2])\n"
                                "  %1 = add(%x, %0)\n"
                                "  %2 = slice(%1, starts=[7, 0], lengths=[8, 2], steps=[-1, 1])\n"
                                "  %3 = pad(%2, before=[0, 1], after=[2, 0])\n"
                                "  %4 = reshape(%3, shape=[30])\n"
                                "  return %4\n"
                                "}")));
  CHECK(evaluate_typed(g, std::vector<Array>{Array(f32, {8, 2}), Array(f32, {2})})[0].elements() == 30);
}

TEST_CASE("a symbol without a value stays, with its facts") {
  const Graph g = bind(symbolic(), {{"N", 3}});
  verify(g);
  CHECK(g.symbols() == std::vector<std::string>{"M"});
  CHECK(g.facts().divisor.at("M") == 8);
  CHECK(bind(g, {{"M", 8}}).facts() == Facts{});
}

TEST_CASE("values that do not fit are refused") {
  CHECK_THROWS_WITH(bind(symbolic(), {{"M", 12}}), ContainsSubstring("M = 12 breaks M % 8 == 0"));
  CHECK_THROWS_WITH(bind(symbolic(), {{"M", 0}}), ContainsSubstring("M = 0 breaks M >= 1"));
  CHECK_THROWS_WITH(bind(symbolic(), {{"N", -1}}), ContainsSubstring("must not be negative"));
  CHECK_THROWS_WITH(bind(symbolic(), {{"K", 1}}),
                    ContainsSubstring("has no symbol K to give the value 1; there are M, N"));
  CHECK_THROWS_AS(bind(parse("graph @g(%x: f32[M]) { return max(%x) }"), {{"M", 0}}), ValueError);
}
