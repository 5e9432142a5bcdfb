#include "passes/math_forms.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/liveness.h"
#include "passes/below_maximum.h"
#include "passes/lower_bounds.h"
#include "passes/narrow_values.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Value;

template <std::size_t N>
bool is_one_of(Op op, const std::array<Op, N>& ops) {
  return std::ranges::find(ops, op) != ops.end();
}

/// Whether a relative error of the operand becomes at most as large a one of the result.
bool keeps_relative_error(const Graph& g, Value user, const std::vector<double>& bounds) {
  constexpr std::array always{Op::mul,   Op::div,     Op::reciprocal, Op::neg, Op::abs,
                              Op::sqrt,  Op::rsqrt,   Op::tanh,       Op::erf, Op::atan,
                              Op::asinh, Op::maximum, Op::minimum};
  const Op op = g.op(user);
  if (ir::is_movement(op) || is_one_of(op, always) || op == Op::max || op == Op::min) return true;
  if (op == Op::cast) return is_float(g.dtype(user));
  const auto operands = g.operands(user);
  const auto holds = [&](Value x) { return bounds[x.id] >= 0; };
  if (op == Op::add || op == Op::sum || op == Op::log1p) return std::ranges::all_of(operands, holds);
  if (op == Op::fma) return holds(user) && holds(operands[2]);
  if (op == Op::where) return true;
  return false;
}

/// Whether a value is a sum, written as a difference, of log sum e^(x - max x) and of what is x - max x with
/// the other sign: cross entropy, log softmax. Neither makes the other's error count for more.
bool adds_logarithm(const Graph& g, Value user, const std::vector<bool>& below) {
  if (g.op(user) != Op::sub) return false;
  const Value a = g.operands(user)[0], b = g.operands(user)[1];
  return (is_log_of_shifted_sum(g, a) && below[b.id]) || (below[a.id] && is_log_of_shifted_sum(g, b));
}

/// Whether zero in place of an operand below 2^-126 makes no more of a difference to the result than that.
bool keeps_small_values_small(const Graph& g, Value user, Value operand) {
  constexpr std::array always{Op::add,     Op::sum,     Op::neg,   Op::abs,   Op::cast, Op::max, Op::min,
                              Op::maximum, Op::minimum, Op::where, Op::log1p, Op::tanh, Op::erf};
  const Op op = g.op(user);
  const auto operands = g.operands(user);
  if (op == Op::div) return operands[1] != operand;
  if (op == Op::mul) {
    Value factor = operands[0] == operand ? operands[1] : operands[0];
    if (g.op(factor) == Op::broadcast_to) factor = g.operands(factor)[0];
    return g.op(factor) == Op::constant && std::abs(g.attrs(factor).value.real()) <= 1;
  }
  return ir::is_movement(op) || is_one_of(op, always);
}

/// Whether the result has a pole, a root or an edge, beside which the last bit of an operand decides
/// everything, as in log(1 - x / max x).
bool has_edge(const Graph& g, Value user, Value operand) {
  constexpr std::array with_edge{Op::log,   Op::log2,       Op::log10, Op::log1p, Op::sqrt,
                                 Op::rsqrt, Op::reciprocal, Op::tan,   Op::asin,  Op::acos,
                                 Op::acosh, Op::atanh,      Op::pow,   Op::atan2, Op::hypot};
  return is_one_of(g.op(user), with_edge) || (g.op(user) == Op::div && g.operands(user)[1] == operand);
}

/// What is known of a value from what is made of it.
struct Uses {
  int weight = 0;             // how often its relative error may count in a result
  bool may_flush = true;      // zero will do for what is below 2^-126
  bool meets_no_edge = true;  // nothing made of it has an edge
};

constexpr int most_weight = 4;

std::vector<Uses> uses_of(const Graph& g, const std::vector<bool>& narrow, const std::vector<double>& bounds,
                          const std::vector<std::uint32_t>& last) {
  const std::vector<bool> below = below_maximum(g);
  std::vector<Uses> uses(g.size());
  for (auto id = static_cast<std::uint32_t>(g.size()); id-- > 0;) {
    const Value v{id};
    if (last[id] == ir::never_read) continue;
    const bool ends = g.op(v) == Op::cast && is_16bit_float(g.dtype(v));
    const bool keeps = ends || keeps_relative_error(g, v, bounds) || adds_logarithm(g, v, below) ||
                       is_log_of_shifted_sum(g, v);
    const auto operands = g.operands(v);
    const bool beside_large = bounds[id] >= 1 && (g.op(v) == Op::add || g.op(v) == Op::sum);
    const bool by_large = g.op(v) != Op::div || bounds[operands[1].id] >= 1;
    for (Value x : operands) {
      Uses& u = uses[x.id];
      u.weight = std::min(most_weight + 1, u.weight + (ends ? 1 : keeps ? uses[id].weight : most_weight + 1));
      if (ends) continue;
      u.may_flush = u.may_flush &&
                    (beside_large || (uses[id].may_flush && by_large && keeps_small_values_small(g, v, x)));
      u.meets_no_edge = u.meets_no_edge && uses[id].meets_no_edge && !has_edge(g, v, x);
    }
  }
  for (std::uint32_t id = 0; id < g.size(); ++id)
    if (!narrow[id]) uses[id] = {most_weight + 1, false, false};
  return uses;
}

}  // namespace

std::string_view prefix(MathForm form) {
  constexpr std::array<std::string_view, 5> prefixes{"", "device_", "narrow_", "bounded_", "coarse_"};
  return prefixes[static_cast<std::size_t>(form)];
}

std::vector<MathForm> math_forms(const Graph& g, Numerics numerics) {
  std::vector<MathForm> forms(g.size(), MathForm::portable);
  if (numerics == Numerics::strict) return forms;
  const std::vector<std::uint32_t> last = ir::last_readers(g);
  const std::vector<bool> narrow = narrow_values(g), ends_in_bf16 = bf16_values(g);
  const std::vector<double> bounds = lower_bounds(g);
  const std::vector<Uses> uses = uses_of(g, narrow, bounds, last);
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const Value v{id};
    if (!ir::is_elementwise(g.op(v)) || g.dtype(v) != DType::f32) continue;
    const ir::ElementwiseInfo& info = ir::elementwise_info(g.op(v));
    const bool by_broadcast = g.op(v) == Op::div && g.op(g.operands(v)[1]) == Op::broadcast_to;
    const bool divides = g.op(v) == Op::div || g.op(v) == Op::reciprocal;
    const bool flushes = g.op(v) == Op::exp || g.op(v) == Op::exp2;
    const bool safe = uses[id].weight <= most_weight && (!flushes || uses[id].may_flush);
    if (info.is(ir::coarse_form) && ends_in_bf16[id] && uses[id].weight <= 1)
      forms[id] = MathForm::coarse;
    else if (info.is(ir::narrow_form) && narrow[id] && (safe || (by_broadcast && uses[id].meets_no_edge)))
      forms[id] =
          divides && bounds[g.operands(v).back().id] >= 0x1p-100 ? MathForm::bounded : MathForm::narrow;
    else if (info.is(ir::device_form))
      forms[id] = MathForm::device;
  }
  return forms;
}

}  // namespace sinter::passes
