#include "passes/copy_operands.h"

#include <algorithm>
#include <numeric>

#include "ir/rewrite.h"

namespace sinter::passes {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Op;
using ir::Value;

/// Whether lines of that length do not overlap at that distance.
bool clears(const Dim& stride, const Dim& length) {
  if (stride.is_constant() && length.is_constant())
    return stride.value() >= std::max<std::int64_t>(length.value(), 1);
  return stride == length;
}

}  // namespace

bool is_dense_matrix(const ir::Shape& shape, const std::vector<Dim>& strides) {
  if (shape.is_empty()) return true;
  const int rank = shape.rank();
  const Dim &rows = shape[rank - 2], &columns = shape[rank - 1];
  const Dim &row = strides[static_cast<std::size_t>(rank - 2)],
            &column = strides[static_cast<std::size_t>(rank - 1)];
  for (int i = 0; i < rank - 2; ++i) {
    const Dim& stride = strides[static_cast<std::size_t>(i)];
    if (!shape[i].is(1) && stride.is_constant() && stride.value() < 0) return false;
  }
  const bool by_rows = (columns.is(1) || column.is(1)) && (rows.is(1) || clears(row, columns));
  const bool by_columns = (rows.is(1) || row.is(1)) && (columns.is(1) || clears(column, rows));
  return by_rows || by_columns;
}

Graph copy_operands(const Graph& graph, const PassContext& context) {
  const auto needs_copy = [&](Value operand) {
    const auto at = std::ranges::find(graph.inputs(), operand);
    if (at == graph.inputs().end() || context.inputs.empty()) return false;
    const auto& strides = context.inputs[static_cast<std::size_t>(at - graph.inputs().begin())];
    return !is_dense_matrix(graph.shape(operand), {strides.begin(), strides.end()});
  };
  if (context.library.any_strides) return ir::without_dead_nodes(graph);
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) {
    if (r.from.op(old) != Op::matmul) return r.copy(old);
    std::vector<Value> operands;
    for (Value operand : r.from.operands(old)) {
      Value& value = operands.emplace_back(r[operand]);
      if (r.from.op(operand) != Op::input || !needs_copy(operand)) continue;
      ir::Attrs attrs;
      attrs.axes.resize(static_cast<std::size_t>(r.from.shape(operand).rank()));
      std::iota(attrs.axes.begin(), attrs.axes.end(), 0);
      value = r.to.add(Op::permute_dims, {&value, 1}, attrs, r.from[old].location);
    }
    return r.to.add(Op::matmul, operands, {}, r.from[old].location);
  });
}

}  // namespace sinter::passes
