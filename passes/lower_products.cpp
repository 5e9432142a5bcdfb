#include "passes/lower_products.h"

#include <array>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Shape;
using ir::Value;

/// The shape with an axis of length 1 put before `axis`.
Shape with_axis(const Shape& shape, int axis) {
  Shape result;
  for (int i = 0; i <= shape.rank(); ++i) {
    if (i == axis) result.push_back(1);
    if (i < shape.rank()) result.push_back(shape[i]);
  }
  return result;
}

Value sum_of_products(Graph& g, Value a, Value b, std::source_location where) {
  const int rank = g.shape(a).rank();
  // [.., m, k, 1] and [.., 1, k, n]: the innermost axis stays, so that B and the result are read and written
  // along it.
  const std::array<ir::Operand, 2> factors{
      ir::reshape(g, a, with_axis(g.shape(a), rank), where),
      ir::reshape(g, b, with_axis(g.shape(b), rank - 2), where),
  };
  const Value products = ir::elementwise(g, Op::mul, factors, where);
  return ir::reduce(g, Op::sum, products, std::vector<std::int64_t>{rank - 1}, false, g.dtype(a), where);
}

}  // namespace

Graph lower_products(const Graph& graph, const PassContext& context) {
  if (context.library.whole_numbers) return ir::without_dead_nodes(graph);
  return ir::rewrite(graph, [](ir::Rewriter& r, Value old) {
    if (r.from.op(old) != Op::matmul || is_float(r.from.dtype(old))) return r.copy(old);
    const std::span<const Value> operands = r.from.operands(old);
    return sum_of_products(r.to, r[operands[0]], r[operands[1]], r.from[old].location);
  });
}

}  // namespace sinter::passes
