#include "passes/below_maximum.h"

#include <algorithm>

namespace sinter::passes {

using ir::Graph;
using ir::Op;
using ir::Value;

namespace {

/// The value that one is made of by adding axes of length 1 or repeating.
Value without_broadcast(const Graph& g, Value v) {
  while (g.op(v) == Op::broadcast_to || g.op(v) == Op::reshape) v = g.operands(v)[0];
  return v;
}

/// Whether `top` is the maximum, along one axis, of what `picked` takes from along it, row by row.
bool is_picked_from(const Graph& g, Value picked, Value top) {
  if (g.op(picked) != Op::take_along_axis) return false;
  if (g.op(top) == Op::broadcast_to) top = g.operands(top)[0];
  const ir::Attrs &take = g.attrs(picked), &max = g.attrs(top);
  return g.op(top) == Op::max && g.operands(top)[0] == g.operands(picked)[0] && max.axes == take.axes &&
         g.shape(top).rank() == g.shape(picked).rank();
}

}  // namespace

bool is_shift(const Graph& g, Value shift, Value x, const ir::Attrs& sum) {
  if (g.op(shift) == Op::broadcast_to) shift = g.operands(shift)[0];
  const ir::Shape &from = g.shape(x), &to = g.shape(shift);
  if (from.rank() != to.rank()) return false;
  for (int i = 0; i < from.rank(); ++i) {
    const bool folded = std::ranges::find(sum.axes, i) != sum.axes.end();
    if (!(to[i] == (folded ? ir::Dim(1) : from[i]))) return false;
  }
  while (g.op(shift) == Op::reshape) shift = g.operands(shift)[0];
  return g.op(shift) == Op::max && g.operands(shift)[0] == x && g.attrs(shift).axes == sum.axes;
}

std::vector<bool> below_maximum(const Graph& g) {
  std::vector<bool> result(g.size());
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const Value v{id};
    if (g.op(v) != Op::sub) continue;
    const Value x = g.operands(v)[0], top = without_broadcast(g, g.operands(v)[1]);
    result[id] = g.op(top) == Op::max &&
                 (is_shift(g, g.operands(v)[1], x, g.attrs(top)) || is_picked_from(g, x, g.operands(v)[1]));
  }
  return result;
}

bool is_log_of_shifted_sum(const Graph& g, Value v) {
  if (g.op(v) == Op::broadcast_to || g.op(v) == Op::reshape) v = without_broadcast(g, v);
  if (g.op(v) != Op::log && g.op(v) != Op::log2 && g.op(v) != Op::log10) return false;
  const Value sum = without_broadcast(g, g.operands(v)[0]);
  if (g.op(sum) != Op::sum || g.op(g.operands(sum)[0]) != Op::exp) return false;
  const Value x = g.operands(g.operands(sum)[0])[0];
  return g.op(x) == Op::sub && is_shift(g, g.operands(x)[1], g.operands(x)[0], g.attrs(sum));
}

}  // namespace sinter::passes
