#include "passes/fold_constants.h"

#include <algorithm>

#include "ir/evaluate_typed.h"
#include "ir/rewrite.h"

namespace sinter::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::Value;

/// Whether the evaluator gives the bits that a kernel would.
bool is_exact(Op op, DType operand) {
  return !is_float(operand) || ir::elementwise_info(op).is(ir::exact);
}

Value fold(ir::Rewriter& r, Value old, Numerics numerics) {
  const Op op = r.from.op(old);
  const auto operands = r.operands(old);
  if (!ir::is_elementwise(op)) return r.copy(old);
  if (std::ranges::any_of(operands, [&](Value x) { return r.to.op(x) != Op::constant; })) return r.copy(old);
  if (numerics == Numerics::strict && !is_exact(op, r.to.dtype(operands.back()))) return r.copy(old);
  std::vector<Scalar> values;
  for (Value x : operands) values.push_back(r.to.attrs(x).value);
  return r.to.constant(ir::evaluate_scalar(op, values, r.from.attrs(old)), r.from[old].location);
}

}  // namespace

ir::Graph fold_constants(const ir::Graph& graph, const PassContext& context) {
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) { return fold(r, old, context.numerics); });
}

}  // namespace sinter::passes
