// Every rule of the graph, broken once: the kind of error, the op with its operands, and the rule in words.
#include "ir/infer.h"

#include "ir/build.h"
#include "sinter/error.h"
#include "tests/catch.h"

using namespace sinter;
using namespace sinter::ir;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Fixture {
  Graph g;
  Value x = g.input("x", f32, {3, 4});
  Value y = g.input("y", f32, {4});
  Value h = g.input("h", f16, {3, 4});
  Value n = g.input("n", int32, {3, 4});
  Value c = g.input("c", boolean, {3, 4});
  Value none = g.input("none", f32, {3, 0});
  Value m = g.input("m", f32, {Dim::symbol("M"), 4});

  template <class E>
  std::string refused(Op op, const std::vector<Value>& operands, const Attrs& attrs = {}) {
    const std::size_t size = g.size();
    try {
      g.add(op, operands, attrs);
    } catch (const E& error) {
      CHECK(g.size() == size);  // nothing is left behind
      return error.what();
    }
    return "no error of this kind";
  }
};

Attrs with_axes(std::vector<std::int64_t> axes) {
  Attrs attrs;
  attrs.axes = std::move(axes);
  return attrs;
}

Attrs with_shape(Shape shape) {
  Attrs attrs;
  attrs.shape = std::move(shape);
  return attrs;
}

Attrs slice_of(std::vector<Dim> starts, Shape lengths, std::vector<std::int64_t> steps) {
  Attrs attrs;
  attrs.starts = std::move(starts);
  attrs.shape = std::move(lengths);
  attrs.steps = std::move(steps);
  return attrs;
}

Attrs pad_of(std::vector<Dim> before, std::vector<Dim> after, Scalar value) {
  Attrs attrs;
  attrs.starts = std::move(before);
  attrs.ends = std::move(after);
  attrs.value = value;
  return attrs;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "elementwise operands share dtype and shape, or are scalars") {
  CHECK_THAT(refused<ValueError>(Op::add, {x}), ContainsSubstring("add(f32[3, 4]): takes 2 operands, got 1"));
  CHECK_THAT(refused<DTypeError>(Op::add, {x, h}),
             ContainsSubstring("add(f32[3, 4], f16[3, 4]): operands must share one dtype"));
  CHECK_THAT(refused<ShapeError>(Op::add, {x, y}),
             ContainsSubstring("add(f32[3, 4], f32[4]): shapes differ"));
  const Value scalar = g.constant(Scalar::from_real(f32, 1.0L));
  CHECK(g.shape(g.add(Op::add, std::vector<Value>{scalar, x})) == Shape{3, 4});
}

TEST_CASE_METHOD(Fixture, "elementwise ops admit the dtypes of their rule") {
  CHECK_THAT(refused<DTypeError>(Op::add, {c, c}),
             ContainsSubstring("admits whole numbers and floats, not bool; convert it"));
  CHECK_THAT(refused<DTypeError>(Op::exp, {n}),
             ContainsSubstring("exp(int32[3, 4]): admits floats, not int32"));
  CHECK_THAT(refused<DTypeError>(Op::logical_and, {n, n}), ContainsSubstring("admits bool"));
  CHECK_THAT(refused<DTypeError>(Op::bitwise_and, {x, x}),
             ContainsSubstring("admits whole numbers and bool"));
  CHECK_THAT(refused<DTypeError>(Op::left_shift, {c, c}), ContainsSubstring("admits whole numbers"));
  CHECK_THAT(refused<DTypeError>(Op::where, {x, x, x}),
             ContainsSubstring("the condition must be bool, got f32"));
  CHECK(g.dtype(g.add(Op::less, std::vector<Value>{n, n})) == boolean);
  CHECK(g.dtype(g.add(Op::where, std::vector<Value>{c, h, h})) == f16);
}

TEST_CASE_METHOD(Fixture, "reductions name each axis once and in order, and fold in the table's dtype") {
  CHECK_THAT(refused<ShapeError>(Op::sum, {x}, with_axes({2})), ContainsSubstring("axis 2 is out of range"));
  CHECK_THAT(refused<ShapeError>(Op::sum, {x}, with_axes({-1})),
             ContainsSubstring("axis -1 is out of range"));
  CHECK_THAT(refused<ShapeError>(Op::sum, {x}, with_axes({1, 1})),
             ContainsSubstring("axis 1 is named twice"));
  CHECK_THAT(refused<ShapeError>(Op::sum, {x}, with_axes({1, 0})),
             ContainsSubstring("axes must be in order"));
  CHECK_THAT(refused<DTypeError>(Op::sum, {n}, with_axes({0})), ContainsSubstring("folds in int64"));
  CHECK_THAT(refused<DTypeError>(Op::any, {x}, with_axes({0})), ContainsSubstring("folds in bool"));
  for (Op op : {Op::max, Op::min, Op::argmax, Op::argmin})
    CHECK_THAT(refused<ValueError>(op, {none}, with_axes({1})), ContainsSubstring("axis 1 has no elements"));
  CHECK(g.dtype(g.add(Op::argmax, {&h, 1}, with_axes({0}))) == int64);
}

TEST_CASE_METHOD(Fixture, "movements fit their operand") {
  CHECK_THAT(refused<ShapeError>(Op::broadcast_to, {x}, with_shape({4, 4})),
             ContainsSubstring("broadcast_to(f32[3, 4]): cannot be broadcast to [4, 4]"));
  CHECK_THAT(refused<ShapeError>(Op::broadcast_to, {x}, with_shape({4})),
             ContainsSubstring("cannot be broadcast"));
  CHECK_THAT(refused<ShapeError>(Op::broadcast_to, {m}, with_shape({8, 4})),
             ContainsSubstring("cannot be broadcast"));
  CHECK_THAT(refused<ShapeError>(Op::reshape, {x}, with_shape({5, 2})),
             ContainsSubstring("has 12 elements, the shape [5, 2] has 10"));
  CHECK_THAT(refused<ShapeError>(Op::permute_dims, {x}, with_axes({0})),
             ContainsSubstring("needs every axis once"));
  CHECK_THAT(refused<ShapeError>(Op::permute_dims, {x}, with_axes({0, 0})),
             ContainsSubstring("axis 0 is named twice"));
  CHECK_THAT(refused<ShapeError>(Op::flip, {x}, with_axes({1, 0})),
             ContainsSubstring("axes must be in order"));
  CHECK_THAT(refused<ShapeError>(Op::flip, {x}, with_axes({0, 0})), ContainsSubstring("each once"));
}

TEST_CASE_METHOD(Fixture, "slices stay inside their operand") {
  CHECK_THAT(refused<ShapeError>(Op::slice, {x}, slice_of({0}, {1, 1}, {1, 1})),
             ContainsSubstring("one start per axis"));
  CHECK_THAT(refused<ValueError>(Op::slice, {x}, slice_of({0, 0}, {1, 1}, {1, 0})),
             ContainsSubstring("the step of axis 1 is 0"));
  CHECK_THAT(refused<ShapeError>(Op::slice, {x}, slice_of({0, 2}, {3, 3}, {1, 1})),
             ContainsSubstring("axis 1 of length 4 has no 3 elements from 2 by 1"));
  CHECK_THAT(refused<ShapeError>(Op::slice, {x}, slice_of({0, 1}, {3, 3}, {1, -1})),
             ContainsSubstring("has no 3"));
  CHECK(g.shape(g.add(Op::slice, {&x, 1}, slice_of({0, 9}, {3, 0}, {1, 1}))) == Shape{3, 0});
}

TEST_CASE_METHOD(Fixture, "pads grow by a value of the operand's dtype") {
  const Scalar zero = Scalar::from_real(f32, 0.0L);
  CHECK_THAT(refused<ShapeError>(Op::pad, {x}, pad_of({0}, {0, 0}, zero)),
             ContainsSubstring("elements before per axis"));
  CHECK_THAT(refused<ShapeError>(Op::pad, {x}, pad_of({0, -1}, {0, 0}, zero)),
             ContainsSubstring("cannot pad axis 1 by -1"));
  CHECK_THAT(refused<DTypeError>(Op::pad, {x}, pad_of({0, 0}, {0, 0}, Scalar::from_whole(int8, 0))),
             ContainsSubstring("the value is int8"));
}

TEST_CASE_METHOD(Fixture, "concat joins tensors of one dtype that differ in one axis") {
  CHECK_THAT(refused<ValueError>(Op::concat, {}, with_axes({0})), ContainsSubstring("at least one tensor"));
  CHECK_THAT(refused<ShapeError>(Op::concat, {x, x}), ContainsSubstring("needs one axis"));
  CHECK_THAT(refused<DTypeError>(Op::concat, {x, h}, with_axes({0})),
             ContainsSubstring("must share one dtype"));
  CHECK_THAT(refused<ShapeError>(Op::concat, {x, y}, with_axes({0})),
             ContainsSubstring("equal but for axis 0"));
  CHECK(g.shape(g.add(Op::concat, std::vector<Value>{m, x}, with_axes({0}))) ==
        Shape{Dim::symbol("M") + 3, 4});
}

TEST_CASE_METHOD(Fixture, "gathers take whole numbers as indices") {
  CHECK_THAT(refused<DTypeError>(Op::take, {x, y}, with_axes({0})),
             ContainsSubstring("index must be of whole numbers"));
  CHECK_THAT(refused<ShapeError>(Op::take, {x, n}), ContainsSubstring("needs one axis"));
  CHECK_THAT(refused<ShapeError>(Op::take_along_axis, {y, n}, with_axes({0})),
             ContainsSubstring("equal but for axis 0"));
  CHECK(g.shape(g.add(Op::take, std::vector<Value>{x, n}, with_axes({1}))) == Shape{3, 3, 4});
}

TEST_CASE_METHOD(Fixture, "matrices fit") {
  CHECK_THAT(refused<ShapeError>(Op::matmul, {x, x}),
             ContainsSubstring("the inner lengths differ: 4 columns on the left, 3 rows on the right"));
  CHECK_THAT(refused<ShapeError>(Op::matmul, {y, y}), ContainsSubstring("at least two axes"));
  CHECK_THAT(refused<DTypeError>(Op::matmul, {x, h}),
             ContainsSubstring("share one dtype of whole numbers or floats"));
  CHECK_THAT(refused<DTypeError>(Op::matmul, {c, c}),
             ContainsSubstring("share one dtype of whole numbers or floats"));
}

TEST_CASE_METHOD(Fixture, "generators have their dtypes") {
  Attrs truth = with_shape({3});
  truth.axes = {0};
  truth.dtype = boolean;
  CHECK_THAT(refused<DTypeError>(Op::iota, {}, truth), ContainsSubstring("not in bool"));
  CHECK_THAT(refused<ShapeError>(Op::iota, {}, with_shape({3})), ContainsSubstring("needs one axis"));
  CHECK_THAT(refused<DTypeError>(Op::random_bits, {x, x}, with_shape({3})),
             ContainsSubstring("int64 scalars"));
}
