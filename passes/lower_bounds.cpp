#include "passes/lower_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "passes/below_maximum.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Value;

constexpr double nothing_known = -std::numeric_limits<double>::infinity();

template <std::size_t N>
bool is_one_of(Op op, const std::array<Op, N>& ops) {
  return std::ranges::find(ops, op) != ops.end();
}

/// The sum of e^(x - max x): one of the terms is 1.
bool is_shifted_sum(const Graph& g, Value v) {
  if (g.op(v) != Op::sum || g.op(g.operands(v)[0]) != Op::exp) return false;
  const Value x = g.operands(g.operands(v)[0])[0];
  return g.op(x) == Op::sub && is_shift(g, g.operands(x)[1], g.operands(x)[0], g.attrs(v));
}

/// Of what is computed from operands that are never negative, or a function that never is.
double bound_of(const Graph& g, Value v, const std::vector<double>& bounds) {
  constexpr std::array never_negative{Op::exp, Op::exp2, Op::abs, Op::rsqrt, Op::erfc};
  constexpr std::array keeps_sign{Op::div, Op::reciprocal, Op::log1p, Op::tanh, Op::erf};
  const Op op = g.op(v);
  const auto operands = g.operands(v);
  const auto of = [&](std::size_t i) { return bounds[operands[i].id]; };
  if (op == Op::constant)
    return is_float(g.dtype(v)) ? static_cast<double>(g.attrs(v).value.real()) : nothing_known;
  if (is_one_of(op, never_negative)) return 0;
  if (operands.empty() || op == Op::pad) return nothing_known;
  if (op == Op::sqrt) return std::sqrt(std::max(0.0, of(0)));
  if (op == Op::where) return std::min(of(1), of(2));
  if (op == Op::maximum) return std::max(of(0), of(1));
  if (op == Op::minimum) return std::min(of(0), of(1));
  const bool is_square = (op == Op::mul || op == Op::fma) && operands[0] == operands[1];
  const bool positive = std::ranges::all_of(operands, [&](Value x) { return bounds[x.id] >= 0; });
  if (op == Op::mul) return positive ? of(0) * of(1) : is_square ? 0 : nothing_known;
  if (op == Op::fma) return of(2) >= 0 && (positive || is_square) ? of(2) : nothing_known;
  if (!positive) return ir::is_movement(op) || op == Op::max || op == Op::min ? of(0) : nothing_known;
  if (op == Op::add) return of(0) + of(1);
  if (op == Op::cast) return of(0) >= 1 && is_float(g.dtype(v)) ? 1 : 0;  // small numbers may round to 0
  if (ir::is_movement(op) || op == Op::max || op == Op::min) return of(0);
  if (is_shifted_sum(g, v)) return 1;
  return ir::is_reduction(op) || is_one_of(op, keeps_sign) ? 0 : nothing_known;
}

}  // namespace

std::vector<double> lower_bounds(const Graph& graph) {
  std::vector<double> bounds(graph.size(), nothing_known);
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Value v{id};
    const double bound = bound_of(graph, v, bounds);
    // Rounding is monotone, so a bound may be rounded as the value is.
    if (!std::isnan(bound)) bounds[id] = graph.dtype(v) == DType::f64 ? bound : static_cast<float>(bound);
  }
  return bounds;
}

}  // namespace sinter::passes
