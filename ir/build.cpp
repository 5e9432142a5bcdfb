#include "ir/build.h"

#include <algorithm>
#include <numeric>

#include "ir/base/check.h"

namespace sinter::ir {
namespace {

std::vector<int> sorted_axes(std::optional<std::vector<std::int64_t>> axes, int rank, std::string_view what) {
  std::vector<int> result;
  if (!axes) {
    result.resize(static_cast<std::size_t>(rank));
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  for (std::int64_t axis : *axes) result.push_back(normalize_axis(axis, rank, what));
  std::ranges::sort(result);
  if (auto twice = std::ranges::adjacent_find(result); twice != result.end())
    fail<ShapeError>("{}: axis {} is named twice; each may be named once", what, *twice);
  return result;
}

Value add_one(Graph& g, Op op, Value x, const Attrs& attrs, Where where) {
  return g.add(op, {&x, 1}, attrs, where);
}

std::string describe_operands(const Graph& g, Op op, std::span<const Operand> operands) {
  std::string text = fmt::format("{}(", name(op));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i) text += ", ";
    if (const Value* v = std::get_if<Value>(&operands[i]))
      text += fmt::format("{}{}", name(g.dtype(*v)), g.shape(*v).str());
    else
      text += std::get<Literal>(operands[i]).str();
  }
  return text + ")";
}

/// The dtype operands are brought to before the op sees them.
DType operand_dtype(const Graph& g, const ElementwiseInfo& info, std::span<const Operand> operands) {
  if (info.rule == DTypeRule::logical) return DType::boolean;
  const DType t = common_dtype(g, info.rule == DTypeRule::select ? operands.subspan(1) : operands);
  return info.rule == DTypeRule::floating && !is_float(t) ? DType::f32 : t;
}

/// The literal in dtype `t`; an error names the operation.
template <class Describe>
Scalar literal_in(const Literal& literal, DType t, const Describe& what) {
  try {
    return to_scalar(literal, t);
  } catch (const DTypeError& error) {
    fail<DTypeError>("{}: {}", what(), error.what());
  }
}

}  // namespace

DType common_dtype(const Graph& g, std::span<const Operand> operands) {
  std::optional<DType> t;
  for (const Operand& o : operands)
    if (const Value* v = std::get_if<Value>(&o)) t = t ? promote(*t, g.dtype(*v)) : g.dtype(*v);
  if (t) {
    for (const Operand& o : operands)
      if (const Literal* l = std::get_if<Literal>(&o)) t = meet(*t, *l);
    return *t;
  }
  for (const Operand& o : operands) {
    const DType own = default_dtype(std::get<Literal>(o));
    t = t ? promote(*t, own) : own;
  }
  return t.value_or(DType::f32);
}

Value cast(Graph& g, Value x, DType to, Where where) {
  if (g.dtype(x) == to) return x;
  Attrs attrs;
  attrs.dtype = to;
  return add_one(g, Op::cast, x, attrs, where);
}

Value elementwise(Graph& g, Op op, std::span<const Operand> operands, Where where) {
  const ElementwiseInfo& info = elementwise_info(op);
  if (operands.size() != static_cast<std::size_t>(info.arity))
    fail<ValueError>("{}: takes {} operand{}, got {}", describe_operands(g, op, operands), info.arity,
                     info.arity == 1 ? "" : "s", operands.size());
  const DType t = operand_dtype(g, info, operands);
  std::vector<Value> values;
  Shape shape;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool condition = info.rule == DTypeRule::select && i == 0;
    const DType own = condition ? DType::boolean : t;
    if (const Literal* literal = std::get_if<Literal>(&operands[i])) {
      const Scalar scalar = literal_in(*literal, own, [&] { return describe_operands(g, op, operands); });
      values.push_back(g.constant(scalar, where));
    } else {
      values.push_back(cast(g, std::get<Value>(operands[i]), own, where));
    }
    const Shape& next = g.shape(values.back());
    if (shape.rank() == 0)
      shape = next;
    else if (next.rank() != 0 && !(next == shape))
      shape = broadcast_shapes(shape, next, describe_operands(g, op, operands));
  }
  for (Value& v : values)
    if (g.shape(v).rank() != 0) v = broadcast_to(g, v, shape, where);
  return g.add(op, values, {}, where);
}

Value reduce(Graph& g, Op op, Value x, std::optional<std::vector<std::int64_t>> axes, bool keepdims,
             std::optional<DType> dtype, Where where) {
  Attrs attrs;
  for (int axis : sorted_axes(std::move(axes), g.shape(x).rank(), describe(g, op, {&x, 1})))
    attrs.axes.push_back(axis);
  attrs.keepdims = keepdims;
  const ReductionInfo& info = reduction_info(op);
  if (dtype && info.accumulator != Accumulator::wide)
    fail<DTypeError>("{}: takes no dtype; cast its operand or its result", describe(g, op, {&x, 1}));
  if (dtype) x = cast(g, x, *dtype, where);
  // Narrow whole numbers fold in int64 and are wrapped to the dtype asked for at the end, which gives the
  // same.
  if (info.accumulator != Accumulator::index) x = cast(g, x, reduction_result(op, g.dtype(x)), where);
  const Value result = add_one(g, op, x, attrs, where);
  return dtype ? cast(g, result, *dtype, where) : result;
}

Value broadcast_to(Graph& g, Value x, const Shape& shape, Where where) {
  if (g.shape(x) == shape) return x;
  Attrs attrs;
  attrs.shape = shape;
  return add_one(g, Op::broadcast_to, x, attrs, where);
}

Value reshape(Graph& g, Value x, Shape shape, Where where) {
  int unknown = -1;
  Dim known(1);
  for (int i = 0; i < shape.rank(); ++i) {
    if (!shape[i].is(-1)) {
      if (shape[i].is_constant() && shape[i].value() < 0)
        fail<ShapeError>("{}: {} is not a shape; one length may be -1, the others are not negative",
                         describe(g, Op::reshape, {&x, 1}), shape.str());
      known = known * shape[i];
      continue;
    }
    if (unknown >= 0)
      fail<ShapeError>("{}: only one length of {} may be -1", describe(g, Op::reshape, {&x, 1}), shape.str());
    unknown = i;
  }
  if (unknown >= 0) {
    const std::optional<Dim> rest = g.shape(x).elements().divided_by(known);
    if (!rest)
      fail<ShapeError>("{}: {} elements do not fill the shape {} for any whole length in place of -1",
                       describe(g, Op::reshape, {&x, 1}), g.shape(x).elements().str(), shape.str());
    shape[unknown] = *rest;
  }
  if (g.shape(x) == shape) return x;
  Attrs attrs;
  attrs.shape = std::move(shape);
  return add_one(g, Op::reshape, x, attrs, where);
}

Value permute_dims(Graph& g, Value x, std::vector<std::int64_t> axes, Where where) {
  Attrs attrs;
  for (std::int64_t axis : axes)
    attrs.axes.push_back(normalize_axis(axis, g.shape(x).rank(), describe(g, Op::permute_dims, {&x, 1})));
  if (std::ranges::is_sorted(attrs.axes) &&
      attrs.axes.size() == static_cast<std::size_t>(g.shape(x).rank()) &&
      std::ranges::adjacent_find(attrs.axes) == attrs.axes.end())
    return x;
  return add_one(g, Op::permute_dims, x, attrs, where);
}

Value slice(Graph& g, Value x, std::span<const Range> ranges, Where where) {
  const Shape& s = g.shape(x);
  const std::string what = describe(g, Op::slice, {&x, 1});
  if (ranges.size() > static_cast<std::size_t>(s.rank()))
    fail<ShapeError>("{}: {} ranges for {} axes", what, ranges.size(), s.rank());
  Attrs attrs;
  bool whole = true;
  for (int i = 0; i < s.rank(); ++i) {
    const Range r =
        static_cast<std::size_t>(i) < ranges.size() ? ranges[static_cast<std::size_t>(i)] : Range{};
    if (r.step == 0)
      fail<ValueError>(
          "{}: the step of axis {} is 0; it is the distance between elements taken, negative to go backwards",
          what, i);
    if (!r.start && !r.stop && (r.step == 1 || r.step == -1)) {  // works for a symbolic length, too
      attrs.starts.push_back(r.step == 1 ? Dim(0) : s[i] - 1);
      attrs.shape.push_back(s[i]);
    } else {
      if (!s[i].is_constant())
        fail<UnsupportedError>(
            "{}: axis {} has the symbolic length {}, of which only the whole can be taken; "
            "give the symbol a value",
            what, i, s[i].str());
      const std::int64_t n = s[i].value(), low = r.step > 0 ? 0 : -1, high = r.step > 0 ? n : n - 1;
      auto place = [&](std::optional<std::int64_t> at, std::int64_t otherwise) {
        return at ? std::clamp(*at < 0 ? *at + n : *at, low, high) : otherwise;
      };
      const std::int64_t start = place(r.start, r.step > 0 ? low : high);
      const std::int64_t stop = place(r.stop, r.step > 0 ? high : low);
      const std::int64_t span = r.step > 0 ? stop - start : start - stop;
      const std::int64_t magnitude =
          r.step > 0 ? r.step : -std::max(r.step, -std::numeric_limits<std::int64_t>::max());
      attrs.starts.push_back(span > 0 ? start : 0);
      attrs.shape.push_back(span > 0 ? (span - 1) / magnitude + 1 : 0);
    }
    // From one element no step leads on, so that none can lead out of the address space.
    const bool steps = !attrs.shape[i].is_constant() || attrs.shape[i].value() > 1;
    attrs.steps.push_back(steps ? r.step : 1);
    whole = whole && attrs.steps.back() == 1 && attrs.shape[i] == s[i];
  }
  return whole ? x : add_one(g, Op::slice, x, attrs, where);
}

Value flip(Graph& g, Value x, std::optional<std::vector<std::int64_t>> axes, Where where) {
  Attrs attrs;
  for (int axis : sorted_axes(std::move(axes), g.shape(x).rank(), describe(g, Op::flip, {&x, 1})))
    attrs.axes.push_back(axis);
  return attrs.axes.empty() ? x : add_one(g, Op::flip, x, attrs, where);
}

Value pad(Graph& g, Value x, std::span<const std::int64_t> before, std::span<const std::int64_t> after,
          const Literal& value, Where where) {
  Attrs attrs;
  attrs.starts.assign(before.begin(), before.end());
  attrs.ends.assign(after.begin(), after.end());
  attrs.value = literal_in(value, g.dtype(x), [&] { return describe(g, Op::pad, {&x, 1}); });
  return add_one(g, Op::pad, x, attrs, where);
}

Value concat(Graph& g, std::span<const Value> tensors, std::int64_t axis, Where where) {
  if (tensors.empty()) fail<ValueError>("concat: needs at least one tensor");
  const std::vector<Operand> operands(tensors.begin(), tensors.end());
  const DType t = common_dtype(g, operands);
  std::vector<Value> values;
  for (Value v : tensors) values.push_back(cast(g, v, t, where));
  Attrs attrs;
  attrs.axes = {normalize_axis(axis, g.shape(values[0]).rank(), describe(g, Op::concat, values))};
  return values.size() == 1 ? values[0] : g.add(Op::concat, values, attrs, where);
}

namespace {
Value gather(Graph& g, Op op, Value x, Value index, std::int64_t axis, Where where) {
  const Value operands[] = {x, index};
  Attrs attrs;
  attrs.axes = {normalize_axis(axis, g.shape(x).rank(), describe(g, op, operands))};
  return g.add(op, operands, attrs, where);
}
}  // namespace

Value take_along_axis(Graph& g, Value x, Value index, std::int64_t axis, Where where) {
  return gather(g, Op::take_along_axis, x, index, axis, where);
}

Value take(Graph& g, Value x, Value index, std::int64_t axis, Where where) {
  return gather(g, Op::take, x, index, axis, where);
}

Value scatter_add(Graph& g, Value source, Value index, std::int64_t axis, const Dim& length, Where where) {
  const Value operands[] = {source, index};
  const int rank = g.shape(source).rank() - g.shape(index).rank() + 1;  // of the result
  if (rank < 1)
    fail<ShapeError>("{}: the source must have every axis of the index",
                     describe(g, Op::scatter_add, operands));
  Attrs attrs;
  attrs.axes = {normalize_axis(axis, rank, describe(g, Op::scatter_add, operands))};
  attrs.shape = {length};
  return g.add(Op::scatter_add, operands, attrs, where);
}

Value sum_segments(Graph& g, Value source, Value order, Value starts, std::int64_t axis, Where where) {
  const Value operands[] = {source, order, starts};
  Attrs attrs;
  attrs.axes = {normalize_axis(axis, g.shape(source).rank(), describe(g, Op::sum_segments, operands))};
  return g.add(Op::sum_segments, operands, attrs, where);
}

Value search(Graph& g, Op op, Value array, std::span<const Operand> numbers, Where where) {
  std::vector<Value> operands{array};
  for (const Operand& number : numbers) {
    if (const Value* v = std::get_if<Value>(&number))
      operands.push_back(*v);
    else
      operands.push_back(g.constant(
          literal_in(std::get<Literal>(number), DType::int64, [&] { return describe(g, op, operands); }),
          where));
  }
  return g.add(op, operands, {}, where);
}

Value matmul(Graph& g, Value a, Value b, Where where) {
  const Value given[] = {a, b};
  const std::string what = describe(g, Op::matmul, given);
  if (g.shape(a).rank() == 0 || g.shape(b).rank() == 0)
    fail<ShapeError>("{}: scalars have no matrix product; use multiply", what);
  const DType t = promote(g.dtype(a), g.dtype(b));
  const bool row = g.shape(a).rank() == 1, column = g.shape(b).rank() == 1;
  const Dim &columns = g.shape(a)[g.shape(a).rank() - 1],
            &rows = g.shape(b)[column ? 0 : g.shape(b).rank() - 2];
  if (!(columns == rows))
    fail<ShapeError>("{}: the inner lengths differ: {} columns on the left, {} rows on the right", what,
                     columns.str(), rows.str());
  a = cast(g, a, t, where);
  b = cast(g, b, t, where);
  if (row) a = reshape(g, a, Shape{1, g.shape(a)[0]}, where);
  if (column) b = reshape(g, b, Shape{g.shape(b)[0], 1}, where);
  auto split = [&](Value v) {
    const std::vector<Dim>& d = g.shape(v).dims();
    return std::pair(Shape(std::vector<Dim>(d.begin(), d.end() - 2)), std::vector<Dim>(d.end() - 2, d.end()));
  };
  auto [batch_a, matrix_a] = split(a);
  auto [batch_b, matrix_b] = split(b);
  const Shape batch = broadcast_shapes(batch_a, batch_b, what);
  auto with_batch = [&](Value v, const std::vector<Dim>& matrix) {
    std::vector<Dim> dims = batch.dims();
    dims.insert(dims.end(), matrix.begin(), matrix.end());
    return broadcast_to(g, v, Shape(std::move(dims)), where);
  };
  const Value operands[] = {with_batch(a, matrix_a), with_batch(b, matrix_b)};
  Value y = g.add(Op::matmul, operands, {}, where);
  if (!row && !column) return y;
  std::vector<Dim> dims = batch.dims();
  if (!row) dims.push_back(matrix_a[0]);
  if (!column) dims.push_back(matrix_b[1]);
  return reshape(g, y, Shape(std::move(dims)), where);
}

Value iota(Graph& g, const Shape& shape, std::int64_t axis, DType dtype, Where where) {
  Attrs attrs;
  attrs.shape = shape;
  attrs.axes = {normalize_axis(axis, shape.rank(), "iota")};
  attrs.dtype = dtype;
  return g.add(Op::iota, {}, attrs, where);
}

Value random_bits(Graph& g, Value key, Value counter, const Shape& shape, Where where) {
  Attrs attrs;
  attrs.shape = shape;
  const Value operands[] = {key, counter};
  return g.add(Op::random_bits, operands, attrs, where);
}

}  // namespace sinter::ir
