#include "ir/rewrite.h"

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "sinter/error.h"
#include "tests/catch.h"

namespace sinter::ir {
namespace {

TEST_CASE("rebuilding drops dead nodes and keeps inputs, names, facts and lines") {
  const Graph g = parse(R"(graph @"a name"(%x: f32[M], %unused: f32[3]) where M % 4 == 0 {
    %dead = exp(%x)
    %a = neg(%x)
    return first=%a, %x
  })");
  const Graph copy = without_dead_nodes(g);
  verify(copy);
  CHECK(print(copy) == print(parse(R"(graph @"a name"(%x: f32[M], %unused: f32[3]) where M % 4 == 0 {
    return first=neg(%x), %x
  })")));
  CHECK(copy[copy.outputs()[0].value].location.line() == g[g.outputs()[0].value].location.line());
}

TEST_CASE("a visitor says what takes a node's place, and equal nodes become one") {
  const Graph g = parse("graph @g(%x: f32[4]) {\n  return add(sin(%x), cos(%x))\n}");
  const Graph swapped = rewrite(g, [](Rewriter& r, Value old) {
    if (r.from.op(old) != Op::cos) return r.copy(old);
    return r.to.add(Op::sin, r.operands(old), {}, r.from[old].location);
  });
  CHECK(print(swapped) == print(parse("graph @g(%x: f32[4]) {\n  %s = sin(%x)\n  return add(%s, %s)\n}")));
}

TEST_CASE("a replacement of another shape or dtype is our own fault") {
  const Graph g = parse("graph @g(%x: f32[4]) {\n  return max(%x)\n}");
  CHECK_THROWS_AS(rewrite(g, [](Rewriter& r, Value old) { return r.operands(old)[0]; }), InternalError);
}

TEST_CASE("uses count operands and outputs, of live nodes only") {
  const Graph g = parse(R"(graph @g(%x: f32[4]) {
    %dead = exp(%x)
    %s = mul(%x, %x)
    return %s, %s
  })");
  const std::vector<std::uint32_t> uses = count_uses(g);
  CHECK(uses[g.inputs()[0].id] == 2);
  CHECK(uses[g.outputs()[0].value.id] == 2);
}

TEST_CASE("graphs are equal when nodes, outputs and facts are") {
  const auto graph = [](const char* expression) {
    return parse(std::string("graph @g(%x: f32[4, 4]) {\n  return ") + expression + "\n}");
  };
  CHECK(equal(graph("sum(%x, axes=[1])"), graph("sum(%x, axes=[1])")));
  CHECK_FALSE(equal(graph("sum(%x, axes=[1])"), graph("sum(%x, axes=[0])")));
  CHECK_FALSE(equal(graph("add(%x, 0)"), graph("add(%x, -0.0)")));
  CHECK_FALSE(equal(graph("cast(%x, dtype=f16)"), graph("cast(%x, dtype=bf16)")));
  CHECK_FALSE(equal(graph("a=%x"), graph("b=%x")));
}

TEST_CASE("a chain of a million nodes is rebuilt without recursion") {
  Graph g("chain");
  Value v = g.input("x", f32, {4});
  for (int i = 0; i < 1'000'000; ++i) v = g.add(i % 2 ? Op::sin : Op::neg, {&v, 1});
  g.output(v);
  CHECK(equal(g, without_dead_nodes(g)));
}

}  // namespace
}  // namespace sinter::ir
