#include "passes/check_indices.h"

#include <fmt/ranges.h>

#include "ir/base/check.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace sinter::passes {

using ir::Graph;
using ir::Op;
using ir::Value;

CheckedGraph check_indices(const Graph& graph) {
  CheckedGraph result{ir::without_dead_nodes(graph), {}};
  Graph& g = result.graph;
  const auto gathers = static_cast<std::uint32_t>(g.size());
  for (std::uint32_t id = 0; id < gathers; ++id) {
    const Value v{id};
    const bool scatters = ir::is_scatter(g.op(v)) && ir::scatter_form(g.op(v)) == ir::ScatterForm::by_index;
    if (!ir::is_gather(g.op(v)) && !scatters) continue;
    const Value data = g.operands(v)[0], index = g.operands(v)[1];
    const std::int64_t axis = g.attrs(v).axes[0], count = g.shape(index).elements().value(),
                       length =
                           (scatters ? g.attrs(v).shape[0] : g.shape(data)[static_cast<int>(axis)]).value();
    if (count == 0) continue;
    const std::source_location where = g[v].location;
    result.checks.push_back(
        {ir::describe(g, g.op(v), g.operands(v)), axis, length, g.shape(index).values(), where});
    const Value flat = ir::reshape(g, ir::cast(g, index, DType::int64, where), {count}, where);
    const ir::Operand below[] = {flat, ir::Literal{-length}}, above[] = {flat, ir::Literal{length}};
    const ir::Operand either[] = {ir::elementwise(g, Op::less, below, where),
                                  ir::elementwise(g, Op::greater_equal, above, where)};
    const Value outside = ir::elementwise(g, Op::logical_or, either, where);
    const Value position =
        ir::reduce(g, Op::argmax, ir::cast(g, outside, DType::int32, where), {}, false, {}, where);
    g.output(position);
    g.output(ir::take(g, flat, position, 0, where));
  }
  return result;
}

void check_index(const Graph& graph, const IndexCheck& check, std::int64_t position, std::int64_t index) {
  if (index >= -check.length && index < check.length) return;
  std::vector<std::int64_t> at(check.shape.size());
  for (std::size_t i = at.size(); i-- > 0; position /= check.shape[i]) at[i] = position % check.shape[i];
  const std::string line =
      check.where.line() == 0 ? "" : fmt::format("\n  at {}:{}", check.where.file_name(), check.where.line());
  fail<ValueError>("{}: {}: the index {} at [{}] is out of range for axis {} of length {}{}", graph.name(),
                   check.operation, index, fmt::join(at, ", "), check.axis, check.length, line);
}

}  // namespace sinter::passes
