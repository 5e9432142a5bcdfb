#include <algorithm>
#include <array>

#include "passes/rules.h"

namespace sinter::passes {
namespace {

using ir::Attrs;
using ir::Dim;
using ir::Graph;
using ir::Op;
using ir::Shape;
using ir::Value;

bool all_zero(const std::vector<Dim>& dims) {
  return std::ranges::all_of(dims, [](const Dim& d) { return d.is(0); });
}

Value reshaped(const RuleContext& c, Op op, Value x, const Shape& shape) {
  if (c.graph.shape(x) == shape) return x;
  Attrs attrs;
  attrs.shape = shape;
  return c.make(op, {&x, 1}, attrs);
}

bool moves_nothing(const Graph& g, Value v) {
  const Value x = g.operands(v)[0];
  const Attrs& a = g.attrs(v);
  const Op op = g.op(v);
  if (op == Op::concat) return g.operands(v).size() == 1;
  if (op == Op::flip)
    return std::ranges::all_of(a.axes, [&](std::int64_t i) { return g.shape(x)[static_cast<int>(i)].is(1); });
  if (!(g.shape(v) == g.shape(x))) return false;
  if (op == Op::permute_dims) return std::ranges::is_sorted(a.axes);
  if (op == Op::slice)
    return all_zero(a.starts) && std::ranges::all_of(a.steps, [](std::int64_t s) { return s == 1; });
  return true;  // broadcast_to, reshape, pad
}

Value drop_idle(const RuleContext& c, Value v) {
  return moves_nothing(c.graph, v) ? c.graph.operands(v)[0] : Value{};
}

/// The operand's operand when both nodes are of one op.
Value inner_of_same_op(const Graph& g, Value v) {
  const Value middle = g.operands(v)[0];
  return g.op(middle) == g.op(v) ? g.operands(middle)[0] : Value{};
}

Value join_reshapes(const RuleContext& c, Value v) {
  const Value x = inner_of_same_op(c.graph, v);
  return x.valid() ? reshaped(c, c.graph.op(v), x, c.graph.shape(v)) : Value{};
}

/// reshape that only adds leading axes of length 1 is what broadcast_to does by itself.
Value broadcast_of_reshape(const RuleContext& c, Value v) {
  const Graph& g = c.graph;
  const Value middle = g.operands(v)[0];
  if (g.op(middle) != Op::reshape) return {};
  const Value x = g.operands(middle)[0];
  const std::vector<Dim>&wide = g.shape(middle).dims(), &narrow = g.shape(x).dims();
  if (wide.size() <= narrow.size() || !std::equal(narrow.rbegin(), narrow.rend(), wide.rbegin())) return {};
  return reshaped(c, Op::broadcast_to, x, g.shape(v));
}

Value join_permutes(const RuleContext& c, Value v) {
  const Value x = inner_of_same_op(c.graph, v);
  if (!x.valid()) return {};
  const auto& inner = c.graph.attrs(c.graph.operands(v)[0]).axes;
  Attrs attrs;
  for (std::int64_t axis : c.graph.attrs(v).axes) attrs.axes.push_back(inner[static_cast<std::size_t>(axis)]);
  return c.make(Op::permute_dims, {&x, 1}, attrs);
}

Value join_slices(const RuleContext& c, Value v) {
  const Value x = inner_of_same_op(c.graph, v);
  if (!x.valid()) return {};
  const Attrs &inner = c.graph.attrs(c.graph.operands(v)[0]), &outer = c.graph.attrs(v);
  Attrs attrs;
  attrs.shape = outer.shape;
  for (std::size_t i = 0; i < outer.steps.size(); ++i) {
    attrs.starts.push_back(inner.starts[i] + outer.starts[i] * Dim(inner.steps[i]));
    attrs.steps.push_back(inner.steps[i] * outer.steps[i]);
  }
  return c.make(Op::slice, {&x, 1}, attrs);
}

Value join_flips(const RuleContext& c, Value v) {
  const Value x = inner_of_same_op(c.graph, v);
  if (!x.valid()) return {};
  Attrs attrs;
  std::ranges::set_symmetric_difference(c.graph.attrs(c.graph.operands(v)[0]).axes, c.graph.attrs(v).axes,
                                        std::back_inserter(attrs.axes));
  return attrs.axes.empty() ? x : c.make(Op::flip, {&x, 1}, attrs);
}

Value join_pads(const RuleContext& c, Value v) {
  const Value x = inner_of_same_op(c.graph, v);
  if (!x.valid()) return {};
  const Attrs &inner = c.graph.attrs(c.graph.operands(v)[0]), &outer = c.graph.attrs(v);
  if (!(inner.value == outer.value)) return {};
  Attrs attrs;
  attrs.value = outer.value;
  for (std::size_t i = 0; i < outer.starts.size(); ++i) {
    attrs.starts.push_back(inner.starts[i] + outer.starts[i]);
    attrs.ends.push_back(inner.ends[i] + outer.ends[i]);
  }
  return c.make(Op::pad, {&x, 1}, attrs);
}

Value join_concats(const RuleContext& c, Value v) {
  const Graph& g = c.graph;
  const auto axis = static_cast<int>(g.attrs(v).axes[0]);
  std::vector<Value> parts;
  bool changed = false;
  for (Value x : g.operands(v)) {
    const bool same = g.op(x) == Op::concat && g.attrs(x).axes == g.attrs(v).axes;
    const bool empty = g.shape(x)[axis].is(0);
    changed = changed || same || empty;
    if (same)
      parts.insert(parts.end(), g.operands(x).begin(), g.operands(x).end());
    else if (!empty)
      parts.push_back(x);
  }
  if (!changed || parts.empty()) return {};
  return parts.size() == 1 ? parts[0] : c.make(Op::concat, parts, g.attrs(v));
}

/// The scalar that every element of `v` is, if its form shows that.
Value uniform_value(const Graph& g, Value v) {
  if (g.shape(v).rank() == 0) return v;
  const bool spread = g.op(v) == Op::broadcast_to && g.shape(g.operands(v)[0]).rank() == 0;
  return spread ? g.operands(v)[0] : Value{};
}

/// Moving equal elements about is spreading one of them.
Value move_uniform(const RuleContext& c, Value v) {
  const Graph& g = c.graph;
  if (g.op(v) == Op::broadcast_to) return {};
  const Value scalar = uniform_value(g, g.operands(v)[0]);
  if (!scalar.valid()) return {};
  for (Value x : g.operands(v))
    if (uniform_value(g, x) != scalar) return {};
  if (g.op(v) == Op::pad && !(g.op(scalar) == Op::constant && g.attrs(scalar).value == g.attrs(v).value))
    return {};
  return reshaped(c, Op::broadcast_to, scalar, g.shape(v));
}

template <Op... ops>
constexpr auto is_one_of = [](Op op) { return ((op == ops) || ...); };

constexpr std::array rules{
    CodedRule{"idle_movement", RuleClass::shape, "a movement that moves nothing → its operand",
              ir::is_movement, drop_idle},
    CodedRule{"uniform_movement", RuleClass::shape,
              "a movement of tensors whose elements are all one scalar → broadcast_to of that scalar",
              ir::is_movement, move_uniform},
    CodedRule{"reshape_reshape", RuleClass::shape, "reshape(reshape(x)) → reshape(x)", is_one_of<Op::reshape>,
              join_reshapes},
    CodedRule{"broadcast_broadcast", RuleClass::shape, "broadcast_to(broadcast_to(x)) → broadcast_to(x)",
              is_one_of<Op::broadcast_to>, join_reshapes},
    CodedRule{"broadcast_reshape", RuleClass::shape,
              "broadcast_to(reshape(x)) → broadcast_to(x) where the reshape adds leading axes of length 1",
              is_one_of<Op::broadcast_to>, broadcast_of_reshape},
    CodedRule{"permute_permute", RuleClass::shape, "permute_dims(permute_dims(x)) → permute_dims(x)",
              is_one_of<Op::permute_dims>, join_permutes},
    CodedRule{"slice_slice", RuleClass::shape, "slice(slice(x)) → slice(x)", is_one_of<Op::slice>,
              join_slices},
    CodedRule{"flip_flip", RuleClass::shape, "flip(flip(x)) → flip(x) of the axes that are in one of them",
              is_one_of<Op::flip>, join_flips},
    CodedRule{"pad_pad", RuleClass::shape, "pad(pad(x)) → pad(x) where both pad with one value",
              is_one_of<Op::pad>, join_pads},
    CodedRule{"concat_concat", RuleClass::shape,
              "concat(…, concat(…), …) → concat(…) along one axis; operands without elements go",
              is_one_of<Op::concat>, join_concats},
};

}  // namespace

std::span<const CodedRule> movement_rules() {
  return rules;
}

}  // namespace sinter::passes
