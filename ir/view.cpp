#include "ir/view.h"

#include <algorithm>

#include "ir/base/check.h"

namespace sinter::ir {

std::vector<Dim> contiguous_strides(const Shape& shape) {
  std::vector<Dim> strides(static_cast<std::size_t>(shape.rank()), Dim(1));
  if (shape.is_empty()) return strides;
  for (int i = shape.rank() - 2; i >= 0; --i)
    strides[static_cast<std::size_t>(i)] = strides[static_cast<std::size_t>(i + 1)] * shape[i + 1];
  return strides;
}

std::optional<std::vector<Dim>> reshape_strides(const Shape& from, const std::vector<Dim>& strides,
                                                const Shape& to) {
  if (from.is_empty()) return contiguous_strides(to);
  // Drop axes of length 1, which place nothing, and join neighbours that run on into each other.
  std::vector<Dim> lengths, steps;
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i].is(1)) continue;
    const Dim& step = strides[static_cast<std::size_t>(i)];
    if (!lengths.empty() && steps.back() == step * from[i]) {
      lengths.back() = lengths.back() * from[i];
      steps.back() = step;
    } else {
      lengths.push_back(from[i]);
      steps.push_back(step);
    }
  }
  // Each joined run must be filled by whole axes of the new shape, from the last axis on.
  std::vector<Dim> result(static_cast<std::size_t>(to.rank()), Dim(0));
  int axis = to.rank() - 1;
  for (std::size_t run = lengths.size(); run-- > 0;) {
    Dim left = lengths[run], step = steps[run];
    while (!left.is(1)) {
      while (axis >= 0 && to[axis].is(1)) --axis;
      if (axis < 0) return std::nullopt;
      const std::optional<Dim> rest = left.divided_by(to[axis]);
      if (!rest) return std::nullopt;
      result[static_cast<std::size_t>(axis)] = step;
      step = step * to[axis];
      left = *rest;
      --axis;
    }
  }
  return result;
}

namespace {

View broadcast_view(const Graph& g, Value node, Value operand, const View& v) {
  const Shape &from = g.shape(operand), &to = g.shape(node);
  View result{v.base, v.offset, std::vector<Dim>(static_cast<std::size_t>(to.rank()), Dim(0))};
  const int lead = to.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] == to[i + lead])
      result.strides[static_cast<std::size_t>(i + lead)] = v.strides[static_cast<std::size_t>(i)];
  return result;
}

View sliced_view(const Attrs& attrs, View v) {
  for (std::size_t i = 0; i < v.strides.size(); ++i) {
    v.offset = v.offset + attrs.starts[i] * v.strides[i];
    v.strides[i] = v.strides[i] * Dim(attrs.steps[i]);
  }
  return v;
}

View flipped_view(const Shape& shape, const Attrs& attrs, View v) {
  for (std::int64_t axis : attrs.axes) {
    Dim& stride = v.strides[static_cast<std::size_t>(axis)];
    v.offset = v.offset + (shape[static_cast<int>(axis)] - 1) * stride;
    stride = Dim(0) - stride;
  }
  return v;
}

}  // namespace

std::optional<View> move_view(const Graph& g, Value node, const View& v) {
  const Value operand = g.operands(node)[0];
  const Attrs& attrs = g.attrs(node);
  if (g.shape(node).is_empty()) return View{v.base, Dim(0), contiguous_strides(g.shape(node))};
  const Op op = g.op(node);
  if (op == Op::broadcast_to) return broadcast_view(g, node, operand, v);
  if (op == Op::slice) return sliced_view(attrs, v);
  if (op == Op::flip) return flipped_view(g.shape(operand), attrs, v);
  if (op == Op::permute_dims) {
    View result{v.base, v.offset, {}};
    for (std::int64_t axis : attrs.axes) result.strides.push_back(v.strides[static_cast<std::size_t>(axis)]);
    return result;
  }
  if (op == Op::reshape) {
    std::optional<std::vector<Dim>> strides = reshape_strides(g.shape(operand), v.strides, g.shape(node));
    if (strides) return View{v.base, v.offset, std::move(*strides)};
  }
  return std::nullopt;
}

std::vector<std::optional<View>> views_of(
    const Graph& g, const std::function<std::optional<std::vector<Dim>>(Value)>& stored) {
  std::vector<std::optional<View>> views(g.size());
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const Value v{id};
    if (std::optional<std::vector<Dim>> strides = stored(v)) {
      views[id] = View{v, Dim(0), std::move(*strides)};
    } else if (is_movement(g.op(v)) && g.op(v) != Op::concat) {
      if (const std::optional<View>& operand = views[g.operands(v)[0].id])
        views[id] = move_view(g, v, *operand);
    }
  }
  return views;
}

}  // namespace sinter::ir
