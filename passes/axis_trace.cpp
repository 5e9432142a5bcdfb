#include "passes/axis_trace.h"

#include <algorithm>

namespace sinter::passes {
namespace {

using ir::Op;
using ir::Shape;
using ir::Value;

/// The operand's axis -> the node's axis for one movement op: -1 for an axis of length 1 that vanished or is
/// repeated, `broken` where the axis does not run along one whole axis of the node.
constexpr int broken = -2;

std::vector<int> reshaped_axes(const Shape& from, const Shape& to) {
  // Only adding and dropping axes of length 1 keeps axes whole.
  std::vector<int> map(static_cast<std::size_t>(from.rank()), -1);
  int j = 0;
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i].is(1)) continue;
    while (j < to.rank() && to[j].is(1)) ++j;
    if (j == to.rank() || !(to[j] == from[i])) return std::vector<int>(map.size(), broken);
    map[static_cast<std::size_t>(i)] = j++;
  }
  return map;
}

std::vector<int> moved_axes(const ir::Graph& g, Value node) {
  const Shape &from = g.shape(g.operands(node)[0]), &to = g.shape(node);
  const ir::Attrs& attrs = g.attrs(node);
  std::vector<int> map(static_cast<std::size_t>(from.rank()), -1);
  const Op op = g.op(node);
  if (op == Op::reshape) return reshaped_axes(from, to);
  for (int i = 0; i < from.rank(); ++i) {
    int& target = map[static_cast<std::size_t>(i)];
    if (op == Op::broadcast_to) {
      const int j = i + to.rank() - from.rank();
      target = from[i].is(1) && !to[j].is(1) ? -1 : j;
    } else if (op == Op::permute_dims) {
      target = static_cast<int>(std::ranges::find(attrs.axes, i) - attrs.axes.begin());
    } else if (op == Op::slice) {
      const bool whole = attrs.steps[static_cast<std::size_t>(i)] == 1 && to[i] == from[i];
      target = whole ? i : broken;
    } else {  // flip
      target = std::ranges::find(attrs.axes, i) == attrs.axes.end() ? i : broken;
    }
    if (from[i].is(1) && target == broken) target = -1;
  }
  return map;
}

}  // namespace

std::vector<AxisTrace> trace_axes(const ir::Graph& g, const std::vector<bool>& is_root) {
  std::vector<AxisTrace> traces(g.size());
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const Value v{id};
    AxisTrace& t = traces[id];
    if (is_root[id]) {
      t.source = v;
      for (int i = 0; i < g.shape(v).rank(); ++i) t.axis.push_back(g.shape(v)[i].is(1) ? -1 : i);
      continue;
    }
    if (!ir::is_movement(g.op(v))) continue;  // a generator: no source
    const AxisTrace& below = traces[g.operands(v)[0].id];
    t.source = below.source;
    t.simple = below.simple;
    if (!t.simple || !t.source.valid()) continue;
    const std::vector<int> map = moved_axes(g, v);
    for (int axis : below.axis) {
      const int moved = axis < 0 ? axis : map[static_cast<std::size_t>(axis)];
      if (moved == broken) t.simple = false;
      t.axis.push_back(moved);
    }
  }
  return traces;
}

}  // namespace sinter::passes
