#include <algorithm>
#include <array>

#include "passes/rules.h"

namespace sinter::passes {
namespace {

using ir::Attrs;
using ir::Graph;
using ir::Op;
using ir::Shape;
using ir::Value;

bool is_spread_scalar(const Graph& g, Value v) {
  return g.op(v) == Op::broadcast_to && g.shape(g.operands(v)[0]).rank() == 0;
}

/// Elementwise ops take scalars as they are, so spreading one is needless beside an operand of full shape.
Value take_scalar(const RuleContext& c, Value v) {
  const Graph& g = c.graph;
  const auto operands = g.operands(v);
  const auto is_full = [&](Value x) { return g.shape(x).rank() != 0 && !is_spread_scalar(g, x); };
  if (std::ranges::none_of(operands, is_full)) return {};
  if (std::ranges::none_of(operands, [&](Value x) { return is_spread_scalar(g, x); })) return {};
  std::vector<Value> taken;
  for (Value x : operands) taken.push_back(is_spread_scalar(g, x) ? g.operands(x)[0] : x);
  return c.make(g.op(v), taken, g.attrs(v));
}

/// Computing on the small tensor and spreading the result gives the same elements for less.
Value hoist_above_broadcast(const RuleContext& c, Value v) {
  const Graph& g = c.graph;
  const Shape* small = nullptr;
  for (Value x : g.operands(v)) {
    if (g.shape(x).rank() == 0) continue;
    if (g.op(x) != Op::broadcast_to) return {};
    const Shape* s = &g.shape(g.operands(x)[0]);
    if (small && s != small) return {};
    small = s;
  }
  if (!small) return {};
  std::vector<Value> sources;
  for (Value x : g.operands(v)) sources.push_back(g.shape(x).rank() == 0 ? x : g.operands(x)[0]);
  Attrs to;
  to.shape = g.shape(v);
  const Value result = c.make(g.op(v), sources, g.attrs(v));
  return c.make(Op::broadcast_to, {&result, 1}, to);
}

bool gives_whole_values(Op op) {
  return op == Op::floor || op == Op::ceil || op == Op::trunc || op == Op::round || op == Op::sign;
}

Value drop_second_rounding(const RuleContext& c, Value v) {
  const Value x = c.graph.operands(v)[0];
  return gives_whole_values(c.graph.op(x)) ? x : Value{};
}

/// A reduction whose axes all have length 1 folds one element. A sum of floats is not among these: it begins
/// with 0, and 0 + -0.0 is 0.
Value drop_fold_of_one(const RuleContext& c, Value v) {
  const Graph& g = c.graph;
  const Value x = g.operands(v)[0];
  const ir::ReductionInfo& info = ir::reduction_info(g.op(v));
  if (info.accumulator == ir::Accumulator::index) return {};
  if (g.op(v) == Op::sum && is_float(g.dtype(v))) return {};
  for (std::int64_t axis : g.attrs(v).axes)
    if (!g.shape(x)[static_cast<int>(axis)].is(1)) return {};
  if (g.shape(x) == g.shape(v)) return x;
  Attrs attrs;
  attrs.shape = g.shape(v);
  return c.make(Op::reshape, {&x, 1}, attrs);
}

constexpr std::array rules{
    CodedRule{"scalar_operand", RuleClass::shape,
              "an elementwise op of x and broadcast_to(scalar) → the same op of x and the scalar",
              ir::is_elementwise, take_scalar},
    CodedRule{"hoist_broadcast", RuleClass::shape,
              "f(broadcast_to(x), broadcast_to(y), scalar) → broadcast_to(f(x, y, scalar)) for elementwise "
              "f, x and y of "
              "one shape",
              ir::is_elementwise, hoist_above_broadcast},
    CodedRule{"rounded_twice", RuleClass::exact,
              "floor, ceil, trunc or round of a floor, ceil, trunc, round or sign → its operand",
              [](Op op) { return gives_whole_values(op) && op != Op::sign; }, drop_second_rounding},
    CodedRule{"fold_of_one", RuleClass::exact,
              "a reduction over axes of length 1 → reshape(x); not for a sum of floats", ir::is_reduction,
              drop_fold_of_one},
};

}  // namespace

std::span<const CodedRule> composition_rules() {
  return rules;
}

}  // namespace sinter::passes
