#include "ir/graph.h"

#include <pthread.h>

#include <functional>

#include "ir/bind.h"
#include "ir/build.h"
#include "ir/evaluate_typed.h"
#include "ir/liveness.h"
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

/// Runs `work` on a thread with a stack of 256 KiB, as under `ulimit -s 256`; overflow would end the process.
void on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread;
  auto start = [](void* f) -> void* {
    (*static_cast<std::function<void()>*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, start, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("equal nodes are one node") {
  Graph g;
  const Value x = g.input("x", f32, {4}), y = g.input("y", f32, {4});
  const Value xy[] = {x, y}, yx[] = {y, x};
  CHECK(g.add(Op::add, xy) == g.add(Op::add, xy));
  CHECK(g.add(Op::add, xy) != g.add(Op::add, yx));
  CHECK(g.add(Op::add, xy) != g.add(Op::sub, xy));
  Attrs one, zero;
  one.axes = {0};
  CHECK(g.add(Op::sum, {&x, 1}, one) == g.add(Op::sum, {&x, 1}, one));
  CHECK(g.add(Op::sum, {&x, 1}, one) != g.add(Op::sum, {&x, 1}, zero));
  CHECK(g.constant(Scalar::from_real(f32, 0.0L)) == g.constant(Scalar::from_real(f32, 0.0L)));
  CHECK(g.constant(Scalar::from_real(f32, 0.0L)) != g.constant(Scalar::from_real(f32, -0.0L)));
  CHECK(g.constant(Scalar::from_real(f32, 1.0L)) != g.constant(Scalar::from_whole(int32, 0x3f800000)));
  verify(g);
}

TEST_CASE("inputs of one name, dtype and shape are two inputs") {
  Graph g;
  CHECK(g.input("x", f32, {4}) != g.input("x", f32, {4}));
  CHECK(g.inputs().size() == 2);
  verify(g);
}

TEST_CASE("equal shapes of different nodes share an address") {
  Graph g;
  const Value x = g.input("x", f32, {2, 3}), y = g.input("y", int8, {2, 3});
  CHECK(g[x].shape == g[y].shape);
}

TEST_CASE("a graph can be moved") {
  Graph g;
  const Value x = g.input("x", f32, {2});
  g.output(g.add(Op::exp, {&x, 1}));
  Graph h = std::move(g);
  verify(h);
  CHECK(h.add(Op::exp, {&x, 1}).id == 1);
}

TEST_CASE("symbols are listed in the order of the inputs") {
  Graph g;
  g.input("x", f32, {Dim::symbol("N"), Dim::symbol("M")});
  g.input("y", f32, {Dim::symbol("M") * 2});
  CHECK(g.symbols() == std::vector<std::string>{"N", "M"});
}

TEST_CASE("the last reader of a value is known, and what nobody needs") {
  const Graph g =
      parse("graph @g(%x: f32[2], %y: f32[2]) { %0 = exp(%x) %1 = mul(%0, %x) %2 = neg(%y) return %1, %0 }");
  CHECK(last_readers(g) == std::vector<std::uint32_t>{3, never_read, 5, 5, never_read});
}

TEST_CASE("a chain of 10^6 nodes builds, verifies, prints, parses, binds, runs and dies on a small stack") {
  bool same = false;
  double result = 0;
  std::size_t size = 0;
  on_small_stack([&] {
    Graph g("chain");
    Value x = g.input("x", f32, {Dim::symbol("M")});
    for (int i = 0; i < 1000000; ++i) {
      const Operand operands[] = {x, Literal{i % 2 ? 0.5 : 2.0}};
      x = elementwise(g, Op::mul, operands);
    }
    g.output(x);
    verify(g);
    const std::string text = print(g);
    const Graph back = parse(text);
    same = print(back) == text;
    const Graph bound = bind(back, {{"M", 1}});
    size = bound.size();
    result =
        testing::numbers_of(evaluate_typed(bound, std::vector<Array>{testing::vector_of(f32, {3})})[0])[0];
  });
  CHECK(same);
  CHECK(size == 1000003);
  CHECK(result == 3);
}

TEST_CASE("the verifier names the node whose attributes are not those of its op") {
  Graph g("graph");
  const Value x = g.input("x", f32, {4});
  Attrs attrs;
  attrs.axes = {0};
  attrs.dtype = f64;  // a reduction has none
  g.output(g.add(Op::sum, {&x, 1}, attrs));
  CHECK_THROWS_AS(verify(g), InternalError);
  CHECK_THROWS_WITH(
      verify(g), ContainsSubstring("graph graph, node 1, sum(f32[4]): has attributes that sum does not use"));
}

TEST_CASE("operands and outputs that are not nodes are refused") {
  Graph g;
  const Value none{7};
  CHECK_THROWS_AS(g.add(Op::exp, {&none, 1}), InternalError);
  CHECK_THROWS_AS(g.output(none), InternalError);
}
