#include "tests/support/every_op.h"

#include <string>
#include <vector>

#include "ir/build.h"

namespace sinter::testing {

using ir::Operand;
using ir::Value;

ir::Graph every_elementwise_op(DType t, std::int64_t length) {
  ir::Graph g("ops");
  const ir::Shape shape{length};
  const Value x = g.input("x", t, shape), y = g.input("y", t, shape), z = g.input("z", t, shape);
  for (const ir::Op op : ir::all_ops) {
    if (!ir::is_elementwise(op) || op == ir::Op::cast) continue;
    const ir::ElementwiseInfo& info = ir::elementwise_info(op);
    if (!ir::admits(info.rule, t)) continue;
    std::vector<Operand> operands{x, y, z};
    if (info.rule == ir::DTypeRule::select)
      operands = {ir::elementwise(g, ir::Op::less, std::vector<Operand>{y, z}), x, y};
    operands.resize(static_cast<std::size_t>(info.arity));
    g.output(ir::elementwise(g, op, operands), std::string(ir::name(op)));
  }
  for (DType to : all_dtypes)
    if (to != t) g.output(ir::cast(g, x, to), "to_" + std::string(name(to)));
  return g;
}

ir::Graph every_reduction(DType t, std::int64_t rows, std::int64_t cols, int axis) {
  ir::Graph g("reductions");
  const Value x = g.input("x", t, {rows, cols});
  for (const ir::Op op : ir::all_ops)
    if (ir::is_reduction(op)) g.output(ir::reduce(g, op, x, {{axis}}, false), std::string(ir::name(op)));
  return g;
}

}  // namespace sinter::testing
