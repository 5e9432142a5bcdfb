#include "passes/math_forms.h"

#include <algorithm>
#include <array>

#include "ir/liveness.h"
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
  constexpr std::array by_nature{Op::exp, Op::exp2, Op::abs, Op::sqrt, Op::rsqrt};
  constexpr std::array keeps_sign{Op::add, Op::mul, Op::div, Op::fma, Op::cast, Op::maximum, Op::minimum};
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
    } else if (op == Op::fma && operands[0] == operands[1]) {
      result[id] = holds(operands[2]);
    } else if (ir::is_reduction(op) || is_one_of(op, keeps_sign) || (ir::is_movement(op) && op != Op::pad)) {
      result[id] = !operands.empty() && std::ranges::all_of(operands, holds);
    }
  }
  return result;
}

/// Whether a relative error of the operand becomes at most as large a one of the result.
bool keeps_relative_error(const Graph& g, Value user, const std::vector<bool>& never_negative) {
  constexpr std::array always{Op::mul,  Op::div,   Op::neg,     Op::abs,
                              Op::sqrt, Op::rsqrt, Op::maximum, Op::minimum};
  const Op op = g.op(user);
  if (ir::is_movement(op) || is_one_of(op, always) || op == Op::max || op == Op::min) return true;
  if (op == Op::cast) return is_float(g.dtype(user));
  const auto operands = g.operands(user);
  const auto holds = [&](Value x) { return static_cast<bool>(never_negative[x.id]); };
  if (op == Op::add || op == Op::sum) return std::ranges::all_of(operands, holds);
  if (op == Op::fma) return never_negative[user.id] && holds(operands[2]);
  if (op == Op::where) return true;
  return false;
}

}  // namespace

std::vector<MathForm> math_forms(const Graph& g, Numerics numerics) {
  std::vector<MathForm> forms(g.size(), MathForm::portable);
  if (numerics == Numerics::strict) return forms;
  const std::vector<std::uint32_t> last = ir::last_readers(g);
  const std::vector<bool> narrow = narrow_values(g), positive = never_negative(g);
  std::vector<bool> safe = narrow;
  for (auto id = static_cast<std::uint32_t>(g.size()); id-- > 0;) {
    const Value v{id};
    if (last[id] == ir::never_read) continue;
    const bool ends = g.op(v) == Op::cast && is_16bit_float(g.dtype(v));
    if (ends || (safe[id] && keeps_relative_error(g, v, positive))) continue;
    for (Value x : g.operands(v)) safe[x.id] = false;
  }
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const Value v{id};
    if (!ir::is_elementwise(g.op(v)) || g.dtype(v) != DType::f32) continue;
    const ir::ElementwiseInfo& info = ir::elementwise_info(g.op(v));
    const bool by_broadcast = g.op(v) == Op::div && g.op(g.operands(v)[1]) == Op::broadcast_to;
    if (info.is(ir::narrow_form) && (safe[id] || (narrow[id] && by_broadcast)))
      forms[id] = MathForm::narrow;
    else if (info.is(ir::device_form))
      forms[id] = MathForm::device;
  }
  return forms;
}

}  // namespace sinter::passes
