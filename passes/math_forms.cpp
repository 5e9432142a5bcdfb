#include "passes/math_forms.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/liveness.h"
#include "passes/below_maximum.h"
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

/// By node id: the value is not negative (or is NaN), whatever the inputs are.
std::vector<bool> never_negative(const Graph& g) {
  constexpr std::array by_nature{Op::exp, Op::exp2, Op::abs, Op::sqrt, Op::rsqrt, Op::erfc};
  constexpr std::array keeps_sign{Op::add,  Op::mul,   Op::div,  Op::reciprocal, Op::fma,
                                  Op::cast, Op::log1p, Op::tanh, Op::erf,        Op::minimum};
  std::vector<bool> result(g.size());
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const Value v{id};
    const Op op = g.op(v);
    const auto operands = g.operands(v);
    const auto holds = [&](Value x) { return static_cast<bool>(result[x.id]); };
    if (op == Op::constant) {
      result[id] = is_float(g.dtype(v)) && g.attrs(v).value.real() >= 0;
    } else if (is_one_of(op, by_nature) || (op == Op::mul && operands[0] == operands[1])) {
      result[id] = true;
    } else if (op == Op::where) {
      result[id] = holds(operands[1]) && holds(operands[2]);
    } else if (op == Op::maximum) {
      result[id] = std::ranges::any_of(operands, holds);
    } else if (op == Op::fma && operands[0] == operands[1]) {
      result[id] = holds(operands[2]);
    } else if (ir::is_reduction(op) || is_one_of(op, keeps_sign) || (ir::is_movement(op) && op != Op::pad)) {
      result[id] = !operands.empty() && std::ranges::all_of(operands, holds);
    }
  }
  return result;
}

/// By node id: the value is 1 or more (or NaN), whatever the inputs are.
std::vector<bool> at_least_one(const Graph& g, const std::vector<bool>& never_negative) {
  std::vector<bool> result(g.size());
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const Value v{id};
    const Op op = g.op(v);
    const auto operands = g.operands(v);
    const auto holds = [&](Value x) { return static_cast<bool>(result[x.id]); };
    const auto positive = [&](Value x) { return static_cast<bool>(never_negative[x.id]); };
    if (op == Op::constant) {
      result[id] = is_float(g.dtype(v)) && g.attrs(v).value.real() >= 1;
    } else if (op == Op::add) {
      result[id] = std::ranges::any_of(operands, holds) && std::ranges::all_of(operands, positive);
    } else if (op == Op::fma) {
      result[id] = positive(v) && holds(operands[2]);
    } else if (op == Op::maximum) {
      result[id] = std::ranges::any_of(operands, holds);
    } else if (op == Op::sum && g.op(operands[0]) == Op::exp) {
      const Value x = g.operands(operands[0])[0];
      result[id] = g.op(x) == Op::sub && is_shift(g, g.operands(x)[1], g.operands(x)[0], g.attrs(v));
    } else if (op == Op::broadcast_to || op == Op::reshape || op == Op::permute_dims || op == Op::mul ||
               op == Op::sqrt) {
      result[id] = std::ranges::all_of(operands, holds);
    }
  }
  return result;
}

/// Whether a relative error of the operand becomes at most as large a one of the result.
bool keeps_relative_error(const Graph& g, Value user, const std::vector<bool>& never_negative) {
  constexpr std::array always{Op::mul,   Op::div,     Op::reciprocal, Op::neg, Op::abs,
                              Op::sqrt,  Op::rsqrt,   Op::tanh,       Op::erf, Op::atan,
                              Op::asinh, Op::maximum, Op::minimum};
  const Op op = g.op(user);
  if (ir::is_movement(op) || is_one_of(op, always) || op == Op::max || op == Op::min) return true;
  if (op == Op::cast) return is_float(g.dtype(user));
  const auto operands = g.operands(user);
  const auto holds = [&](Value x) { return static_cast<bool>(never_negative[x.id]); };
  if (op == Op::add || op == Op::sum || op == Op::log1p) return std::ranges::all_of(operands, holds);
  if (op == Op::fma) return never_negative[user.id] && holds(operands[2]);
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

/// What is known of values from what they are made of, by node id.
struct Known {
  const std::vector<bool>&narrow, &positive, &large;
};

std::vector<Uses> uses_of(const Graph& g, const Known& known, const std::vector<std::uint32_t>& last) {
  const auto& [narrow, positive, large] = known;
  const std::vector<bool> below = below_maximum(g);
  std::vector<Uses> uses(g.size());
  for (auto id = static_cast<std::uint32_t>(g.size()); id-- > 0;) {
    const Value v{id};
    if (last[id] == ir::never_read) continue;
    const bool ends = g.op(v) == Op::cast && is_16bit_float(g.dtype(v));
    const bool keeps = ends || keeps_relative_error(g, v, positive) || adds_logarithm(g, v, below) ||
                       is_log_of_shifted_sum(g, v);
    const auto operands = g.operands(v);
    const bool beside_large = large[id] && (g.op(v) == Op::add || g.op(v) == Op::sum);
    const bool by_large = g.op(v) != Op::div || large[operands[1].id];
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
  const std::vector<bool> positive = never_negative(g), large = at_least_one(g, positive);
  const std::vector<Uses> uses = uses_of(g, {narrow, positive, large}, last);
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
    else if (divides && !by_broadcast && narrow[id] && safe && large[g.operands(v).back().id])
      forms[id] = MathForm::bounded;
    else if (info.is(ir::narrow_form) && narrow[id] && (safe || (by_broadcast && uses[id].meets_no_edge)))
      forms[id] = MathForm::narrow;
    else if (info.is(ir::device_form))
      forms[id] = MathForm::device;
  }
  return forms;
}

}  // namespace sinter::passes
