#include "passes/contract.h"

#include "ir/rewrite.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Value;

class Contractor {
 public:
  explicit Contractor(const Graph& from) : uses_(ir::count_uses(from)) {}

  Value visit(ir::Rewriter& r, Value old) {
    const Graph& g = r.from;
    const Op op = g.op(old);
    if ((op != Op::add && op != Op::sub) || (g.dtype(old) != DType::f32 && g.dtype(old) != DType::f64))
      return r.copy(old);
    const Value left = g.operands(old)[0], right = g.operands(old)[1];
    const bool left_is_product = g.op(left) == Op::mul, right_is_product = g.op(right) == Op::mul;
    if (left_is_product == right_is_product) return r.copy(old);
    const Value product = left_is_product ? left : right, other = left_is_product ? right : left;
    if (uses_[product.id] != 1) return r.copy(old);
    Value a = r[g.operands(product)[0]], b = r[g.operands(product)[1]], c = r[other];
    if (op == Op::sub) {
      Value& negated = left_is_product ? c : r.to.op(b) == Op::constant ? b : a;
      negated = negate(r.to, negated, g[old].location);
    }
    const Value operands[] = {a, b, c};
    return r.to.add(Op::fma, operands, {}, g[old].location);
  }

 private:
  static Value negate(Graph& g, Value v, std::source_location where) {
    if (g.op(v) == Op::constant)
      return g.constant(ir::Scalar::from_real(g.dtype(v), -g.attrs(v).value.real()), where);
    return g.add(Op::neg, {&v, 1}, {}, where);
  }

  std::vector<std::uint32_t> uses_;
};

}  // namespace

Graph contract(const Graph& graph, const PassContext& context) {
  if (context.numerics == Numerics::strict) return ir::without_dead_nodes(graph);
  Contractor contractor(graph);
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) { return contractor.visit(r, old); });
}

}  // namespace sinter::passes
