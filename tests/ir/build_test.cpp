// What users write, brought into the strict form of the graph.
#include "ir/build.h"

#include <fmt/format.h>

#include "ir/parse.h"
#include "ir/print.h"
#include "sinter/error.h"
#include "tests/catch.h"

using namespace sinter;
using namespace sinter::ir;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Fixture {
  Graph g;
  Value x = g.input("x", f32, {3, 4});
  Value h = g.input("h", f16, {4});
  Value b = g.input("b", bf16, {4});
  Value n = g.input("n", int8, {3, 1});
  Value c = g.input("c", boolean, {3, 4});

  Value make(Op op, std::vector<Operand> operands) { return elementwise(g, op, operands); }
  std::string type(Value v) const { return fmt::format("{}{}", name(g.dtype(v)), g.shape(v).str()); }
};

const Literal two{std::int64_t{2}}, half{0.5};

}  // namespace

TEST_CASE_METHOD(Fixture, "operands meet in one dtype and one shape") {
  CHECK(type(make(Op::add, {x, h})) == "f32[3, 4]");
  CHECK(type(make(Op::add, {h, b})) == "f32[4]");
  CHECK(type(make(Op::mul, {n, h})) == "f16[3, 4]");
  CHECK(type(make(Op::mul, {n, c})) == "int8[3, 4]");
  CHECK(type(make(Op::less, {n, x})) == "bool[3, 4]");
}

TEST_CASE_METHOD(Fixture, "numbers take the dtype of the tensor they meet") {
  CHECK(type(make(Op::mul, {b, half})) == "bf16[4]");
  CHECK(type(make(Op::mul, {n, two})) == "int8[3, 1]");
  CHECK(type(make(Op::mul, {n, half})) == "f32[3, 1]");
  CHECK(type(make(Op::add, {c, two})) == "int64[3, 4]");
  CHECK(type(make(Op::where, {c, two, half})) == "f32[3, 4]");
  CHECK(type(make(Op::where, {c, h, half})) == "f16[3, 4]");
  CHECK_THROWS_AS(make(Op::add, {n, Literal{std::int64_t{300}}}), DTypeError);
}

TEST_CASE_METHOD(Fixture, "functions of whole numbers and bool are f32, logic is bool") {
  CHECK(type(make(Op::exp, {n})) == "f32[3, 1]");
  CHECK(type(make(Op::div, {n, two})) == "f32[3, 1]");
  CHECK(type(make(Op::sqrt, {c})) == "f32[3, 4]");
  CHECK(type(make(Op::logical_and, {x, n})) == "bool[3, 4]");
  CHECK(type(make(Op::where, {x, x, x})) == "f32[3, 4]");
}

TEST_CASE_METHOD(Fixture, "reductions take all axes when none are named, and cast to what they fold in") {
  CHECK(type(reduce(g, Op::sum, x, std::nullopt, false)) == "f32[]");
  CHECK(type(reduce(g, Op::sum, x, {{-1}}, true)) == "f32[3, 1]");
  CHECK(type(reduce(g, Op::sum, n, {{0}}, false)) == "int64[1]");
  CHECK(type(reduce(g, Op::sum, n, {{0}}, false, f16)) == "f16[1]");
  CHECK(type(reduce(g, Op::sum, n, {{0}}, false, int8)) == "int8[1]");
  CHECK(type(reduce(g, Op::any, x, {{0, 1}}, false)) == "bool[]");
  CHECK(type(reduce(g, Op::max, h, {{0}}, false)) == "f16[]");
  CHECK_THROWS_AS(reduce(g, Op::max, x, {{0}}, false, f64), DTypeError);
  CHECK_THROWS_WITH(reduce(g, Op::sum, x, {{1, -1}}, false), ContainsSubstring("axis 1 is named twice"));
}

TEST_CASE_METHOD(Fixture, "movements that change nothing make no node") {
  const std::size_t size = g.size();
  CHECK(broadcast_to(g, x, {3, 4}) == x);
  CHECK(reshape(g, x, {3, 4}) == x);
  CHECK(reshape(g, x, {-1, 4}) == x);
  CHECK(permute_dims(g, x, {0, -1}) == x);
  CHECK(slice(g, x, std::vector<Range>{{}, {0, 4, 1}}) == x);
  CHECK(cast(g, x, f32) == x);
  CHECK(flip(g, x, {std::vector<std::int64_t>{}}) == x);
  CHECK(g.size() == size);
}

TEST_CASE_METHOD(Fixture, "reshape works out one length") {
  CHECK(g.shape(reshape(g, x, {2, -1})) == Shape{2, 6});
  const Value s = g.input("s", f32, {Dim::symbol("M"), 4});
  CHECK(g.shape(reshape(g, s, {-1})) == Shape{Dim::symbol("M") * 4});
  CHECK(g.shape(reshape(g, s, {-1, 2})) == Shape{Dim::symbol("M") * 2, 2});
  CHECK_THROWS_AS(reshape(g, s, {-1, 3}), ShapeError);
  CHECK_THROWS_AS(reshape(g, x, {-1, -1}), ShapeError);
  CHECK_THROWS_AS(reshape(g, x, {-2, 6}), ShapeError);
  CHECK_THROWS_AS(reshape(g, x, {5, -1}), ShapeError);
}

TEST_CASE("slices follow Python for every start, stop and step") {
  for (std::int64_t length : {0, 1, 5}) {
    for (std::int64_t step : {-3, -2, -1, 1, 2, 3})
      for (std::int64_t start = -7; start <= 7; ++start)
        for (std::int64_t stop = -7; stop <= 7; ++stop) {
          // Python's own rule, by walking: slice.indices clamps, then range counts.
          auto place = [&](std::int64_t at) {
            if (at < 0) at += length;
            const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;
            return at < low ? low : at > high ? high : at;
          };
          std::vector<std::int64_t> expected;
          for (std::int64_t i = place(start); step > 0 ? i < place(stop) : i > place(stop); i += step)
            expected.push_back(i);
          Graph g;
          const Value x = g.input("x", f32, {length});
          const Value y = slice(g, x, std::vector<Range>{{start, stop, step}});
          INFO(length << "[" << start << ":" << stop << ":" << step << "]");
          REQUIRE(g.shape(y)[0].value() == static_cast<std::int64_t>(expected.size()));
          if (!expected.empty() && y != x) REQUIRE(g.attrs(y).starts[0].is(expected[0]));
        }
  }
}

TEST_CASE_METHOD(Fixture, "matmul takes vectors, broadcasts batches, promotes") {
  const Value batch = g.input("batch", f32, {2, 1, 4, 5}), many = g.input("many", bf16, {3, 7, 4});
  CHECK(type(matmul(g, x, h)) == "f32[3]");
  CHECK(type(matmul(g, h, b)) == "f32[]");
  CHECK(type(matmul(g, many, batch)) == "f32[2, 3, 7, 5]");
  CHECK(type(matmul(g, h, batch)) == "f32[2, 1, 5]");
  const Value scalar = g.input("s", f32, {});
  CHECK_THROWS_WITH(matmul(g, x, scalar), ContainsSubstring("use multiply"));
  CHECK_THROWS_AS(matmul(g, x, x), ShapeError);
}

TEST_CASE_METHOD(Fixture, "concat promotes and counts axes from the end") {
  const Value tensors[] = {x, c};
  CHECK(type(concat(g, tensors, -1)) == "f32[3, 8]");
  CHECK(concat(g, {&x, 1}, 0) == x);
  CHECK_THROWS_AS(concat(g, {}, 0), ValueError);
}

TEST_CASE_METHOD(Fixture, "a wrong number of operands is an error that names them") {
  CHECK_THROWS_WITH(make(Op::add, {x}), ContainsSubstring("add(f32[3, 4]): takes 2 operands, got 1"));
  CHECK_THROWS_WITH(make(Op::exp, {x, half}),
                    ContainsSubstring("exp(f32[3, 4], 0.5): takes 1 operand, got 2"));
}
