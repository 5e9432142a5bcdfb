#include "sinter/functions.h"

#include <algorithm>
#include <array>

#include "frontend/dispatch.h"
#include "frontend/errors.h"
#include "frontend/signature.h"
#include "frontend/tensor_impl.h"
#include "ir/base/check.h"

namespace sinter {
namespace {

using frontend::as_value;
using frontend::dispatch;
using ir::Graph;
using ir::Op;
using Values = std::span<const ir::Operand>;
using IrWhere = ir::Where;

template <class... X>
Tensor elementwise(Op op, X&&... operands) {
  const char known[] = {'e', static_cast<char>(op)};
  return dispatch({std::forward<X>(operands)...},
                  [op](Graph& g, Values v, const IrWhere& w) { return ir::elementwise(g, op, v, w); },
                  {known, sizeof known});
}

Tensor cast(Op, Operand x, DType dtype) {
  const char known[] = {'c', static_cast<char>(dtype)};
  return dispatch(
      {std::move(x)},
      [dtype](Graph& g, Values v, const IrWhere& w) { return ir::cast(g, as_value(g, v[0], w), dtype, w); },
      {known, sizeof known});
}

Tensor reduce(Op op, Operand x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  std::string known{'r', static_cast<char>(op), keepdims ? 'k' : '-', dtype ? static_cast<char>(*dtype) : '-',
                    axes.given() ? 'a' : '-'};
  frontend::append_bytes(known, axes.given() ? axes.given()->size() : std::size_t{0});
  if (axes.given())
    for (const std::int64_t axis : *axes.given()) frontend::append_bytes(known, axis);
  return dispatch(
      {std::move(x)},
      [&](Graph& g, Values v, const IrWhere& w) {
        return ir::reduce(g, op, as_value(g, v[0], w), axes.given(), keepdims, dtype, w);
      },
      known);
}
Tensor reduce(Op op, Operand x, const ReduceOptions& o) {
  return reduce(op, std::move(x), o.axes, o.keepdims, {});
}
Tensor reduce(Op op, Operand x, const SumOptions& o) {
  return reduce(op, std::move(x), o.axes, o.keepdims, o.dtype);
}

ir::Shape as_shape(const Shape& shape) {
  return ir::Shape(std::vector<ir::Dim>(shape.begin(), shape.end()));
}

/// "squeeze(f32[2, 3])", for messages of functions that are no ops of their own.
std::string what(const Graph& g, const char* function, ir::Value x) {
  return fmt::format("{}({}{})", function, name(g.dtype(x)), g.shape(x).str());
}

/// One function of ir/build.h on one operand.
template <class F>
Tensor move(Operand x, const F& f) {
  return dispatch({std::move(x)},
                  [&](Graph& g, Values v, const IrWhere& w) { return f(g, as_value(g, v[0], w), w); });
}

}  // namespace

// What the rule of a row gives to the function that makes the node.
#define SINTER_DEFINE_1 Operand x
#define SINTER_DEFINE_2 Operand x, Operand y
#define SINTER_DEFINE_3 Operand x, Operand y, Operand z
#define SINTER_PASS_1 std::move(x)
#define SINTER_PASS_2 std::move(x), std::move(y)
#define SINTER_PASS_3 std::move(x), std::move(y), std::move(z)
#define SINTER_MADE_BY_RULE(arity, api, op)      \
  Tensor api(SINTER_DEFINE_##arity) {            \
    return elementwise(op, SINTER_PASS_##arity); \
  }
#define SINTER_RULE_numeric SINTER_MADE_BY_RULE
#define SINTER_RULE_floating SINTER_MADE_BY_RULE
#define SINTER_RULE_ordered SINTER_MADE_BY_RULE
#define SINTER_RULE_test SINTER_MADE_BY_RULE
#define SINTER_RULE_compare SINTER_MADE_BY_RULE
#define SINTER_RULE_logical SINTER_MADE_BY_RULE
#define SINTER_RULE_bitwise SINTER_MADE_BY_RULE
#define SINTER_RULE_shift SINTER_MADE_BY_RULE
#define SINTER_RULE_select SINTER_MADE_BY_RULE
#define SINTER_RULE_cast(arity, api, op)  \
  Tensor api(Operand x, DType dtype) {    \
    return cast(op, std::move(x), dtype); \
  }
#define SINTER_ELEMENTWISE(id, api, arity, rule, ...) SINTER_RULE_##rule(arity, api, Op::id)
#include "sinter/ops.def"

#define SINTER_OPTIONS_wide SumOptions
#define SINTER_OPTIONS_same ReduceOptions
#define SINTER_OPTIONS_truth ReduceOptions
#define SINTER_OPTIONS_index ReduceOptions
#define SINTER_REDUCTION(id, api, combine, identity, accumulator, ...) \
  Tensor api(Operand x, const SINTER_OPTIONS_##accumulator& options) { \
    return reduce(Op::id, std::move(x), options);                      \
  }
#include "sinter/ops.def"

Tensor Tensor::astype(DType dtype) const {
  return sinter::astype(*this, dtype);
}

Tensor broadcast_to(Operand x, const Shape& shape) {
  return move(std::move(x), [&](Graph& g, ir::Value v, const IrWhere& w) {
    return ir::broadcast_to(g, v, as_shape(shape), w);
  });
}

Tensor reshape(Operand x, const Shape& shape) {
  return move(std::move(x),
              [&](Graph& g, ir::Value v, const IrWhere& w) { return ir::reshape(g, v, as_shape(shape), w); });
}

Tensor permute_dims(Operand x, const std::vector<std::int64_t>& axes) {
  return move(std::move(x),
              [&](Graph& g, ir::Value v, const IrWhere& w) { return ir::permute_dims(g, v, axes, w); });
}

Tensor matrix_transpose(Operand x) {
  return move(std::move(x), [&](Graph& g, ir::Value v, const IrWhere& w) {
    const int rank = g.shape(v).rank();
    if (rank < 2) fail<ShapeError>("{}: needs two axes or more", what(g, "matrix_transpose", v));
    std::vector<std::int64_t> axes;
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    std::swap(axes[axes.size() - 2], axes[axes.size() - 1]);
    return ir::permute_dims(g, v, axes, w);
  });
}

Tensor slice(Operand x, const std::vector<Range>& ranges) {
  std::vector<ir::Range> parts;
  for (const Range& r : ranges) parts.push_back({r.start, r.stop, r.step});
  return move(std::move(x),
              [&](Graph& g, ir::Value v, const IrWhere& w) { return ir::slice(g, v, parts, w); });
}

Tensor flip(Operand x, const Axes& axes) {
  return move(std::move(x),
              [&](Graph& g, ir::Value v, const IrWhere& w) { return ir::flip(g, v, axes.given(), w); });
}

Tensor pad(Operand x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
           Operand value) {
  return move(std::move(x), [&](Graph& g, ir::Value v, const IrWhere& w) {
    const auto* number = std::get_if<Operand::Number>(&value.value());
    if (!number)
      fail<UnsupportedError>(
          "pad({}{}): the value is a number, got a tensor; use where or concat to put tensors "
          "around",
          name(g.dtype(v)), g.shape(v).str());
    return ir::pad(g, v, before, after, ir::Literal{*number}, w);
  });
}

namespace {

Tensor join(std::span<const Operand> tensors, std::int64_t axis) {
  return dispatch(tensors, [&](Graph& g, Values v, const IrWhere& w) {
    std::vector<ir::Value> values;
    for (const ir::Operand& x : v) values.push_back(as_value(g, x, w));
    return ir::concat(g, values, axis, w);
  });
}

Tensor join_along_new(std::span<const Operand> tensors, std::int64_t axis) {
  return dispatch(tensors, [&](Graph& g, Values v, const IrWhere& w) {
    std::vector<ir::Value> values;
    for (const ir::Operand& x : v) values.push_back(as_value(g, x, w));
    if (values.empty()) fail<ValueError>("stack: needs at least one tensor");
    const ir::Shape shape = g.shape(values[0]);
    const int at =
        ir::normalize_axis(axis, shape.rank() + 1, what(g, "stack", values[0]) + " with a new axis");
    std::vector<ir::Dim> dims = shape.dims();
    dims.insert(dims.begin() + at, ir::Dim(1));
    for (ir::Value& value : values) {
      if (!(g.shape(value) == shape))
        fail<ShapeError>("stack: tensors must have one shape, got {} and {}", shape.str(),
                         g.shape(value).str());
      value = ir::reshape(g, value, ir::Shape(dims), w);
    }
    return ir::concat(g, values, at, w);
  });
}

std::vector<Operand> at_line(std::string_view function, const std::vector<Tensor>& tensors,
                             const IrWhere& where) {
  frontend::with_location(where, [&] {
    if (tensors.empty()) fail<ValueError>("{}: needs at least one tensor", function);
  });
  std::vector<Operand> operands;
  for (const Tensor& x : tensors) operands.emplace_back(x, where);
  return operands;
}

}  // namespace

Tensor concat(std::initializer_list<Operand> tensors, std::int64_t axis) {
  return join(std::span(tensors.begin(), tensors.size()), axis);
}
Tensor concat(const std::vector<Tensor>& tensors, std::int64_t axis, Operand::Where where) {
  return join(at_line("concat", tensors, where), axis);
}
Tensor stack(std::initializer_list<Operand> tensors, std::int64_t axis) {
  return join_along_new(std::span(tensors.begin(), tensors.size()), axis);
}
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t axis, Operand::Where where) {
  return join_along_new(at_line("stack", tensors, where), axis);
}

Tensor expand_dims(Operand x, std::int64_t axis) {
  return move(std::move(x), [&](Graph& g, ir::Value v, const IrWhere& w) {
    std::vector<ir::Dim> dims = g.shape(v).dims();
    const int at =
        ir::normalize_axis(axis, g.shape(v).rank() + 1, what(g, "expand_dims", v) + " with a new axis");
    dims.insert(dims.begin() + at, ir::Dim(1));
    return ir::reshape(g, v, ir::Shape(dims), w);
  });
}

Tensor squeeze(Operand x, const Axes& axes) {
  return move(std::move(x), [&](Graph& g, ir::Value v, const IrWhere& w) {
    const ir::Shape& shape = g.shape(v);
    std::vector<bool> removed(static_cast<std::size_t>(shape.rank()), false);
    for (int i = 0; axes.is_all() && i < shape.rank(); ++i)
      removed[static_cast<std::size_t>(i)] = shape[i].is(1);
    if (!axes.is_all())
      for (const std::int64_t axis : *axes.given()) {
        const int i = ir::normalize_axis(axis, shape.rank(), what(g, "squeeze", v));
        if (!shape[i].is(1))
          fail<ShapeError>("{}: axis {} has length {}; only axes of length 1 can be removed",
                           what(g, "squeeze", v), i, shape[i].str());
        removed[static_cast<std::size_t>(i)] = true;
      }
    std::vector<ir::Dim> dims;
    for (int i = 0; i < shape.rank(); ++i)
      if (!removed[static_cast<std::size_t>(i)]) dims.push_back(shape[i]);
    return ir::reshape(g, v, ir::Shape(dims), w);
  });
}

Tensor take(Operand x, Operand index, std::int64_t axis) {
  return dispatch({std::move(x), std::move(index)}, [&](Graph& g, Values v, const IrWhere& w) {
    return ir::take(g, as_value(g, v[0], w), as_value(g, v[1], w), axis, w);
  });
}

Tensor take_along_axis(Operand x, Operand index, std::int64_t axis) {
  return dispatch({std::move(x), std::move(index)}, [&](Graph& g, Values v, const IrWhere& w) {
    return ir::take_along_axis(g, as_value(g, v[0], w), as_value(g, v[1], w), axis, w);
  });
}

Tensor scatter_add(Operand source, Operand index, std::int64_t length, std::int64_t axis) {
  return dispatch({std::move(source), std::move(index)}, [&](Graph& g, Values v, const IrWhere& w) {
    return ir::scatter_add(g, as_value(g, v[0], w), as_value(g, v[1], w), axis, length, w);
  });
}

Tensor index_add(Operand x, Operand index, Operand source, std::int64_t axis) {
  return dispatch(
      {std::move(x), std::move(index), std::move(source)}, [&](Graph& g, Values v, const IrWhere& w) {
        const DType t = ir::common_dtype(g, std::array{v[0], v[2]});
        const ir::Value onto = ir::cast(g, as_value(g, v[0], w), t, w),
                        from = ir::cast(g, as_value(g, v[2], w), t, w);
        const ir::Shape& shape = g.shape(onto);
        const int at = ir::normalize_axis(axis, shape.rank(), what(g, "index_add", onto));
        const ir::Value sums = ir::scatter_add(g, from, as_value(g, v[1], w), at, shape[at], w);
        if (!(g.shape(sums) == shape))
          fail<ShapeError>(
              "{}: the source must have the tensor's axes, and the index's in place of axis {}; it is {}",
              what(g, "index_add", onto), at, g.shape(from).str());
        return ir::elementwise(g, Op::add, std::array<ir::Operand, 2>{onto, sums}, w);
      });
}

Tensor matmul(Operand x, Operand y) {
  return dispatch({std::move(x), std::move(y)}, [](Graph& g, Values v, const IrWhere& w) {
    return ir::matmul(g, as_value(g, v[0], w), as_value(g, v[1], w), w);
  });
}

bool array_equal(const Tensor& x, const Tensor& y) {
  return x.dtype() == y.dtype() && x.shape() == y.shape() && static_cast<bool>(all(equal(x, y)));
}

bool allclose(const Tensor& x, const Tensor& y, double rtol, double atol) {
  if (x.shape() != y.shape()) return false;
  const DType wide = promote(promote(x.dtype(), y.dtype()), DType::f32);
  const Tensor a = x.astype(wide), b = y.astype(wide);
  const Tensor close = abs(a - b) <= atol + rtol * abs(b);
  return static_cast<bool>(all((close & isfinite(b)) | (a == b) | (isnan(a) & isnan(b))));
}

#define SINTER_OPERATOR(symbol, id)                         \
  Tensor operator symbol(Operand x, Operand y) {            \
    return elementwise(Op::id, std::move(x), std::move(y)); \
  }
SINTER_OPERATOR(+, add)
SINTER_OPERATOR(-, sub)
SINTER_OPERATOR(*, mul)
SINTER_OPERATOR(/, div)
SINTER_OPERATOR(%, remainder)
SINTER_OPERATOR(==, equal)
SINTER_OPERATOR(!=, not_equal)
SINTER_OPERATOR(<, less)
SINTER_OPERATOR(<=, less_equal)
SINTER_OPERATOR(>, greater)
SINTER_OPERATOR(>=, greater_equal)
SINTER_OPERATOR(&, bitwise_and)
SINTER_OPERATOR(|, bitwise_or)
SINTER_OPERATOR(^, bitwise_xor)
SINTER_OPERATOR(<<, left_shift)
SINTER_OPERATOR(>>, right_shift)
Tensor operator-(Operand x) {
  return elementwise(Op::neg, std::move(x));
}
Tensor operator~(Operand x) {
  return elementwise(Op::bitwise_not, std::move(x));
}
Tensor operator!(const Tensor& x) {
  return elementwise(Op::logical_not, Operand(x, IrWhere{}));
}
Tensor operator+(Operand x) {
  return move(std::move(x), [](Graph&, ir::Value v, const IrWhere&) { return v; });
}

}  // namespace sinter
