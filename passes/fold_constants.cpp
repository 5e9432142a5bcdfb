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

}  // namespace

Value fold(ir::Graph& graph, Op op, std::span<const Value> operands, const ir::Attrs& attrs,
           Numerics numerics, std::source_location where) {
  if (!ir::is_elementwise(op)) return {};
  if (std::ranges::any_of(operands, [&](Value x) { return graph.op(x) != Op::constant; })) return {};
  if (numerics == Numerics::strict && !is_exact(op, graph.dtype(operands.back()))) return {};
  std::vector<Scalar> values;
  for (Value x : operands) values.push_back(graph.attrs(x).value);
  return graph.constant(ir::evaluate_scalar(op, values, attrs), where);
}

ir::Graph fold_constants(const ir::Graph& graph, const PassContext& context) {
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) {
    const Value folded =
        fold(r.to, graph.op(old), r.operands(old), graph.attrs(old), context.numerics, graph[old].location);
    return folded.valid() ? folded : r.copy(old);
  });
}

}  // namespace sinter::passes
