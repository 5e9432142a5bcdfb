#include "passes/narrow_values.h"

#include "ir/liveness.h"

namespace sinter::passes {

using ir::Op;
using ir::Value;

namespace {

/// Of values whose every use ends in a cast to a dtype that `ends` says yes to.
std::vector<bool> values_that_end(const ir::Graph& graph, bool (*ends)(DType)) {
  const std::vector<std::uint32_t> last = ir::last_readers(graph);
  std::vector<bool> narrow(graph.size());
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    narrow[id] = graph.dtype(Value{id}) == DType::f32 && last[id] != ir::never_read;
  for (const ir::Output& o : graph.outputs()) narrow[o.value.id] = false;
  // Backwards, so that what is said of a node holds by the time its operands are looked at.
  for (auto id = static_cast<std::uint32_t>(graph.size()); id-- > 0;) {
    const Value v{id};
    if (last[id] == ir::never_read) continue;
    const Op op = graph.op(v);
    const bool continuous = ir::is_movement(op) || ir::is_reduction(op) ||
                            (ir::is_elementwise(op) && !ir::elementwise_info(op).is(ir::discrete));
    const bool rounds = op == Op::cast && ends(graph.dtype(v));
    if (rounds || (continuous && narrow[id])) continue;
    for (Value x : graph.operands(v)) narrow[x.id] = false;
  }
  return narrow;
}

}  // namespace

std::vector<bool> narrow_values(const ir::Graph& graph) {
  return values_that_end(graph, is_16bit_float);
}

std::vector<bool> bf16_values(const ir::Graph& graph) {
  return values_that_end(graph, [](DType t) { return t == DType::bf16; });
}

}  // namespace sinter::passes
