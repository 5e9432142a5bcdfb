#include "ir/infer.h"

#include <algorithm>

#include "ir/base/check.h"

namespace sinter::ir {
namespace {

using Operands = std::span<const Value>;

void check_arity(const Graph& g, Op op, Operands x, std::size_t expected) {
  if (x.size() != expected)
    fail<ValueError>("{}: takes {} operand{}, got {}", describe(g, op, x), expected, expected == 1 ? "" : "s",
                     x.size());
}

void check_axis(const Graph& g, Op op, Operands x, std::int64_t axis, int rank) {
  if (axis < 0 || axis >= rank)
    fail<ShapeError>("{}: axis {} is out of range for a tensor of rank {}", describe(g, op, x), axis, rank);
}

void check_per_axis(const Graph& g, Op op, Operands x, std::size_t given, int rank, const char* what) {
  if (given != static_cast<std::size_t>(rank))
    fail<ShapeError>("{}: needs one {} per axis, {} in all, got {}", describe(g, op, x), what, rank, given);
}

std::string_view admitted(DTypeRule rule) {
  switch (rule) {
    case DTypeRule::numeric:
      return "whole numbers and floats";
    case DTypeRule::floating:
      return "floats";
    case DTypeRule::logical:
      return "bool";
    case DTypeRule::bitwise:
      return "whole numbers and bool";
    case DTypeRule::shift:
      return "whole numbers";
    case DTypeRule::ordered:
    case DTypeRule::test:
    case DTypeRule::compare:
    case DTypeRule::select:
    case DTypeRule::cast:
      break;
  }
  return "any dtype";
}

DType elementwise_dtype(const Graph& g, const ElementwiseInfo& info, Operands x, const Attrs& attrs) {
  std::size_t first = 0;
  if (info.rule == DTypeRule::select) {
    if (!is_bool(g.dtype(x[0])))
      fail<DTypeError>("{}: the condition must be bool, got {}; compare it with something first",
                       describe(g, info.op, x), name(g.dtype(x[0])));
    first = 1;
  }
  const DType t = g.dtype(x[first]);
  for (std::size_t i = first + 1; i < x.size(); ++i)
    if (g.dtype(x[i]) != t)
      fail<DTypeError>("{}: operands must share one dtype; convert one of them with cast",
                       describe(g, info.op, x));
  if (!admits(info.rule, t))
    fail<DTypeError>("{}: admits {}, not {}; convert it with astype first", describe(g, info.op, x),
                     admitted(info.rule), name(t));
  if (info.rule == DTypeRule::cast) return attrs.dtype;
  if (info.rule == DTypeRule::test || info.rule == DTypeRule::compare) return DType::boolean;
  return t;
}

/// The one shape of these operands, of all of `x`; a scalar stands for every element.
const Shape* shape_of_elements(const Graph& g, Op op, Operands x, Operands operands) {
  const Shape* shape = g[operands[0]].shape;
  for (Value v : operands) {
    const Shape* s = g[v].shape;
    if (s == shape || s->rank() == 0) continue;
    if (shape->rank() != 0)
      fail<ShapeError>("{}: shapes differ; broadcast_to one of them first", describe(g, op, x));
    shape = s;
  }
  return shape;
}

Inferred infer_elementwise(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  const ElementwiseInfo& info = elementwise_info(op);
  check_arity(g, op, x, static_cast<std::size_t>(info.arity));
  return {elementwise_dtype(g, info, x, attrs), shape_of_elements(g, op, x, x), {}};
}

Inferred infer_reduction(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  check_arity(g, op, x, 1);
  const Shape& s = g.shape(x[0]);
  const ReductionInfo& info = reduction_info(op);
  std::vector<bool> folded(static_cast<std::size_t>(s.rank()), false);
  for (std::int64_t axis : attrs.axes) {
    check_axis(g, op, x, axis, s.rank());
    if (folded[static_cast<std::size_t>(axis)])
      fail<ShapeError>("{}: axis {} is named twice; each may be named once", describe(g, op, x), axis);
    folded[static_cast<std::size_t>(axis)] = true;
    if (s[static_cast<int>(axis)].is(0) &&
        (info.identity == Identity::lowest || info.identity == Identity::highest))
      fail<ValueError>("{}: axis {} has no elements, and {} of nothing is undefined", describe(g, op, x),
                       axis, name(op));
  }
  if (!std::ranges::is_sorted(attrs.axes)) fail<ShapeError>("{}: axes must be in order", describe(g, op, x));
  const DType t = g.dtype(x[0]);
  if (reduction_result(op, t) != t && info.accumulator != Accumulator::index)
    fail<DTypeError>("{}: folds in {}, so the operand must be cast to it first", describe(g, op, x),
                     name(reduction_result(op, t)));
  Shape result;
  for (int i = 0; i < s.rank(); ++i) {
    if (!folded[static_cast<std::size_t>(i)])
      result.push_back(s[i]);
    else if (attrs.keepdims)
      result.push_back(1);
  }
  return {reduction_result(op, t), nullptr, std::move(result)};
}

void check_broadcast(const Graph& g, Op op, Operands x, const Shape& to) {
  const Shape& s = g.shape(x[0]);
  const int lead = to.rank() - s.rank();
  bool fits = lead >= 0;
  for (int i = 0; fits && i < s.rank(); ++i) fits = s[i].is(1) || s[i] == to[i + lead];
  if (!fits)
    fail<ShapeError>(
        "{}: cannot be broadcast to {}: each length must be equal or 1, counted from the last axis",
        describe(g, op, x), to.str());
}

Shape permuted(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  const Shape& s = g.shape(x[0]);
  if (attrs.axes.size() != static_cast<std::size_t>(s.rank()))
    fail<ShapeError>("{}: needs every axis once, {} in all, got {}", describe(g, op, x), s.rank(),
                     attrs.axes.size());
  std::vector<bool> seen(attrs.axes.size(), false);
  Shape result;
  for (std::int64_t axis : attrs.axes) {
    check_axis(g, op, x, axis, s.rank());
    if (seen[static_cast<std::size_t>(axis)])
      fail<ShapeError>("{}: axis {} is named twice; each may be named once", describe(g, op, x), axis);
    seen[static_cast<std::size_t>(axis)] = true;
    result.push_back(s[static_cast<int>(axis)]);
  }
  return result;
}

void check_slice(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  const Shape& s = g.shape(x[0]);
  check_per_axis(g, op, x, attrs.starts.size(), s.rank(), "start");
  check_per_axis(g, op, x, attrs.steps.size(), s.rank(), "step");
  check_per_axis(g, op, x, static_cast<std::size_t>(attrs.shape.rank()), s.rank(), "length");
  for (int i = 0; i < s.rank(); ++i) {
    const std::int64_t step = attrs.steps[static_cast<std::size_t>(i)];
    if (step == 0)
      fail<ValueError>(
          "{}: the step of axis {} is 0; it is the distance between elements taken, negative to go backwards",
          describe(g, op, x), i);
    const Dim& start = attrs.starts[static_cast<std::size_t>(i)];
    const Dim& length = attrs.shape[i];
    if (length.is(0) || !start.is_constant() || !length.is_constant() || !s[i].is_constant()) continue;
    const std::int64_t last = start.value() + (length.value() - 1) * step;
    if (length.value() < 0 || std::min(start.value(), last) < 0 ||
        std::max(start.value(), last) >= s[i].value())
      fail<ShapeError>("{}: axis {} of length {} has no {} elements from {} by {}", describe(g, op, x), i,
                       s[i].str(), length.str(), start.str(), step);
  }
}

Shape padded(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  const Shape& s = g.shape(x[0]);
  check_per_axis(g, op, x, attrs.starts.size(), s.rank(), "number of elements before");
  check_per_axis(g, op, x, attrs.ends.size(), s.rank(), "number of elements after");
  if (attrs.value.dtype != g.dtype(x[0]))
    fail<DTypeError>("{}: the value is {}, it must have the tensor's dtype", describe(g, op, x),
                     name(attrs.value.dtype));
  Shape result;
  for (int i = 0; i < s.rank(); ++i) {
    const Dim &before = attrs.starts[static_cast<std::size_t>(i)],
              &after = attrs.ends[static_cast<std::size_t>(i)];
    for (const Dim* d : {&before, &after})
      if (d->is_constant() && d->value() < 0)
        fail<ShapeError>("{}: cannot pad axis {} by {}; use slice to shorten", describe(g, op, x), i,
                         d->str());
    result.push_back(s[i] + before + after);
  }
  return result;
}

Shape concatenated(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  if (x.empty()) fail<ValueError>("concat: needs at least one tensor");
  if (attrs.axes.size() != 1) fail<ShapeError>("{}: needs one axis", describe(g, op, x));
  Shape result = g.shape(x[0]);
  check_axis(g, op, x, attrs.axes[0], result.rank());
  const int axis = static_cast<int>(attrs.axes[0]);
  for (Value v : x.subspan(1)) {
    const Shape& s = g.shape(v);
    if (g.dtype(v) != g.dtype(x[0])) fail<DTypeError>("{}: tensors must share one dtype", describe(g, op, x));
    bool fits = s.rank() == result.rank();
    for (int i = 0; fits && i < s.rank(); ++i) fits = i == axis || s[i] == result[i];
    if (!fits) fail<ShapeError>("{}: shapes must be equal but for axis {}", describe(g, op, x), axis);
    result[axis] = result[axis] + s[axis];
  }
  return result;
}

Inferred infer_movement(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  if (op == Op::concat) {
    Shape s = concatenated(g, op, x, attrs);
    return {g.dtype(x[0]), nullptr, std::move(s)};
  }
  check_arity(g, op, x, 1);
  const DType t = g.dtype(x[0]);
  if (op == Op::broadcast_to) {
    check_broadcast(g, op, x, attrs.shape);
    return {t, nullptr, attrs.shape};
  }
  if (op == Op::reshape) {
    if (!(g.shape(x[0]).elements() == attrs.shape.elements()))
      fail<ShapeError>(
          "{}: has {} elements, the shape {} has {}; write -1 for one length to have it worked out",
          describe(g, op, x), g.shape(x[0]).elements().str(), attrs.shape.str(),
          attrs.shape.elements().str());
    return {t, nullptr, attrs.shape};
  }
  if (op == Op::permute_dims) return {t, nullptr, permuted(g, op, x, attrs)};
  if (op == Op::slice) {
    check_slice(g, op, x, attrs);
    return {t, nullptr, attrs.shape};
  }
  if (op == Op::flip) {
    for (std::int64_t axis : attrs.axes) check_axis(g, op, x, axis, g.shape(x[0]).rank());
    if (std::ranges::adjacent_find(attrs.axes, std::ranges::greater_equal{}) != attrs.axes.end())
      fail<ShapeError>("{}: axes must be in order, each once", describe(g, op, x));
    return {t, g[x[0]].shape, {}};
  }
  return {t, nullptr, padded(g, op, x, attrs)};
}

Inferred infer_gather(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  check_arity(g, op, x, 2);
  const Shape &data = g.shape(x[0]), &index = g.shape(x[1]);
  if (!is_whole(g.dtype(x[1])))
    fail<DTypeError>("{}: the index must be of whole numbers, got {}", describe(g, op, x),
                     name(g.dtype(x[1])));
  if (attrs.axes.size() != 1) fail<ShapeError>("{}: needs one axis", describe(g, op, x));
  check_axis(g, op, x, attrs.axes[0], data.rank());
  const int axis = static_cast<int>(attrs.axes[0]);
  Shape result;
  if (op == Op::take_along_axis) {
    bool fits = data.rank() == index.rank();
    for (int i = 0; fits && i < data.rank(); ++i) fits = i == axis || data[i] == index[i];
    if (!fits) fail<ShapeError>("{}: shapes must be equal but for axis {}", describe(g, op, x), axis);
    result = index;
  } else {
    for (int i = 0; i < axis; ++i) result.push_back(data[i]);
    for (const Dim& d : index) result.push_back(d);
    for (int i = axis + 1; i < data.rank(); ++i) result.push_back(data[i]);
  }
  return {g.dtype(x[0]), nullptr, std::move(result)};
}

/// The axes of `shape` with those from `axis` on, `count` of them, replaced by one of this length.
Shape with_length(const Shape& shape, int axis, int count, const Dim& length) {
  Shape result;
  for (int i = 0; i < axis; ++i) result.push_back(shape[i]);
  result.push_back(length);
  for (int i = axis + count; i < shape.rank(); ++i) result.push_back(shape[i]);
  return result;
}

void check_whole(const Graph& g, Op op, Operands x, std::size_t operand, const char* what) {
  if (!is_whole(g.dtype(x[operand])))
    fail<DTypeError>("{}: {} must be of whole numbers, got {}", describe(g, op, x), what,
                     name(g.dtype(x[operand])));
}

Inferred infer_scatter(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  const bool by_index = scatter_form(op) == ScatterForm::by_index;
  check_arity(g, op, x, by_index ? 2 : 3);
  const Shape &source = g.shape(x[0]), &index = g.shape(x[1]);
  if (is_bool(g.dtype(x[0])))
    fail<DTypeError>("{}: adds whole numbers or floats, not bool; convert the source with astype first",
                     describe(g, op, x));
  if (attrs.axes.size() != 1) fail<ShapeError>("{}: needs one axis", describe(g, op, x));
  const auto axis = attrs.axes[0];
  if (by_index) {
    check_whole(g, op, x, 1, "the index");
    if (attrs.shape.rank() != 1) fail<ShapeError>("{}: needs one length", describe(g, op, x));
    if (attrs.shape[0].is_constant() && attrs.shape[0].value() < 0)
      fail<ShapeError>("{}: the length {} is negative", describe(g, op, x), attrs.shape[0].str());
    bool fits = axis >= 0 && axis + index.rank() <= source.rank();
    for (int i = 0; fits && i < index.rank(); ++i) fits = source[static_cast<int>(axis) + i] == index[i];
    if (!fits)
      fail<ShapeError>(
          "{}: the source must have the index's axes in place of axis {}: one slice for each index",
          describe(g, op, x), axis);
    return {g.dtype(x[0]), nullptr,
            with_length(source, static_cast<int>(axis), index.rank(), attrs.shape[0])};
  }
  check_axis(g, op, x, axis, source.rank());
  const Shape& starts = g.shape(x[2]);
  if (g.dtype(x[1]) != DType::int64 || g.dtype(x[2]) != DType::int64 || index.rank() != 1 ||
      starts.rank() != 1)
    fail<DTypeError>("{}: the order and the starts must be int64 of one axis", describe(g, op, x));
  if (index[0].is(0) || index[0].is(1) || starts[0].is(0) || source[static_cast<int>(axis)].is(0))
    fail<ShapeError>("{}: needs a slice, an order of two or more, and a start", describe(g, op, x));
  return {g.dtype(x[0]), nullptr, with_length(source, static_cast<int>(axis), 1, starts[0] - 1)};
}

Inferred infer_search(const Graph& g, Op op, Operands x) {
  check_arity(g, op, x, static_cast<std::size_t>(search_arity(op)));
  for (Value v : x)
    if (g.dtype(v) != DType::int64)
      fail<DTypeError>("{}: searches int64 for int64; convert the operands with astype first",
                       describe(g, op, x));
  if (g.shape(x[0]).rank() != 1) fail<ShapeError>("{}: searches an array of one axis", describe(g, op, x));
  return {DType::int64, shape_of_elements(g, op, x, x.subspan(1)), {}};
}

Inferred infer_matmul(const Graph& g, Op op, Operands x) {
  check_arity(g, op, x, 2);
  const Shape &a = g.shape(x[0]), &b = g.shape(x[1]);
  if (g.dtype(x[0]) != g.dtype(x[1]) || is_bool(g.dtype(x[0])))
    fail<DTypeError>(
        "{}: operands must share one dtype of whole numbers or floats; convert them with astype first",
        describe(g, op, x));
  bool fits = a.rank() >= 2 && a.rank() == b.rank();
  for (int i = 0; fits && i < a.rank() - 2; ++i) fits = a[i] == b[i];
  if (!fits) fail<ShapeError>("{}: needs at least two axes each and equal batch axes", describe(g, op, x));
  if (!(a[a.rank() - 1] == b[b.rank() - 2]))
    fail<ShapeError>("{}: the inner lengths differ: {} columns on the left, {} rows on the right",
                     describe(g, op, x), a[a.rank() - 1].str(), b[b.rank() - 2].str());
  Shape result = a;
  result[a.rank() - 1] = b[b.rank() - 1];
  return {g.dtype(x[0]), nullptr, std::move(result)};
}

Inferred infer_generator(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  if (op == Op::constant) {
    check_arity(g, op, x, 0);
    return {attrs.value.dtype, nullptr, Shape{}};
  }
  if (op == Op::iota) {
    check_arity(g, op, x, 0);
    if (attrs.axes.size() != 1) fail<ShapeError>("iota: needs one axis");
    check_axis(g, op, x, attrs.axes[0], attrs.shape.rank());
    if (is_bool(attrs.dtype)) fail<DTypeError>("iota: counts in whole numbers or floats, not in bool");
    return {attrs.dtype, nullptr, attrs.shape};
  }
  SINTER_ASSERT(op == Op::random_bits, "{} is not made by add", name(op));
  check_arity(g, op, x, 2);
  for (Value v : x)
    if (g.dtype(v) != DType::int64 || g.shape(v).rank() != 0)
      fail<DTypeError>("{}: key and counter must be int64 scalars", describe(g, op, x));
  return {DType::int32, nullptr, attrs.shape};
}

}  // namespace

Inferred infer(const Graph& g, Op op, Operands x, const Attrs& attrs) {
  switch (family(op)) {
    case Family::elementwise:
      return infer_elementwise(g, op, x, attrs);
    case Family::reduction:
      return infer_reduction(g, op, x, attrs);
    case Family::movement:
      return infer_movement(g, op, x, attrs);
    case Family::gather:
      return infer_gather(g, op, x, attrs);
    case Family::scatter:
      return infer_scatter(g, op, x, attrs);
    case Family::search:
      return infer_search(g, op, x);
    case Family::contraction:
      return infer_matmul(g, op, x);
    case Family::generator:
      break;
  }
  return infer_generator(g, op, x, attrs);
}

}  // namespace sinter::ir
