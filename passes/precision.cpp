#include "passes/precision.h"

#include <algorithm>

#include "ir/liveness.h"
#include "ir/rewrite.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Value;

bool computes(Op op) {
  return (ir::is_elementwise(op) && op != Op::cast) || ir::is_reduction(op) || ir::is_scatter(op);
}

/// Small changes of an operand can jump the result, so all modes must see the same operand.
bool is_discrete(Op op) {
  if (ir::is_reduction(op)) return ir::reduction_info(op).accumulator == ir::Accumulator::index;
  return ir::is_elementwise(op) && ir::elementwise_info(op).is(ir::discrete);
}

/// Visits nodes of the old graph in order. Of a 16-bit value there are two forms in the new graph: the
/// rewriter's map has the one of 16 bits, wide_ the one in f32. Whichever nobody reads is dead code.
class PrecisionDecider {
 public:
  PrecisionDecider(const Graph& from, bool rounds_always)
      : rounds_always_(rounds_always),
        wide_(from.size()),
        stage_(from.size()),
        in_memory_(from.size(), true) {}

  Value visit(ir::Rewriter& r, Value old) {
    set_stage(r.from, old);
    const Op op = r.from.op(old);
    if (computes(op) && (is_narrow(r.from, old) || takes_narrow(r.from, old))) return compute(r, old);
    const Value stored = r.copy(old);
    if (is_narrow(r.from, old) && ir::is_movement(op)) move(r, old);
    return stored;
  }

 private:
  static bool is_narrow(const Graph& g, Value v) { return is_16bit_float(g.dtype(v)); }
  static bool takes_narrow(const Graph& g, Value v) {
    return std::ranges::any_of(g.operands(v), [&](Value x) { return is_narrow(g, x); });
  }

  Value cast(ir::Rewriter& r, Value x, DType to, Value old) {
    ir::Attrs attrs;
    attrs.dtype = to;
    return r.to.add(Op::cast, {&x, 1}, attrs, r.from[old].location);
  }

  /// The rounded value of `x`, widened.
  Value rounded(ir::Rewriter& r, Value x) {
    if (r.from.op(x) == Op::constant)
      return r.to.constant(r.from.attrs(x).value.cast(DType::f32), r.from[x].location);
    return cast(r, r[x], DType::f32, x);
  }

  /// The operand `x` in f32, as `reader` may see it.
  Value widened(ir::Rewriter& r, Value x, Value reader) {
    if (!is_narrow(r.from, x)) return r[x];
    const bool back_from_memory = stage_[x.id] < stage_[reader.id] && r.from.op(x) != Op::broadcast_to;
    if (in_memory_[x.id] || back_from_memory || is_discrete(r.from.op(reader))) return rounded(r, x);
    return wide_[x.id];
  }

  Value compute(ir::Rewriter& r, Value old) {
    std::vector<Value> operands;
    for (Value x : r.from.operands(old)) operands.push_back(widened(r, x, old));
    const Value result = r.to.add(r.from.op(old), operands, r.from.attrs(old), r.from[old].location);
    if (!is_narrow(r.from, old)) return result;
    wide_[old.id] = result;
    in_memory_[old.id] = rounds_always_;
    return cast(r, result, r.from.dtype(old), old);
  }

  /// What moves values of a chain moves them in f32, too; what moves values from memory moves them in 16
  /// bits.
  void move(ir::Rewriter& r, Value old) {
    const auto operands = r.from.operands(old);
    if (std::ranges::any_of(operands, [&](Value x) { return in_memory_[x.id]; })) return;
    std::vector<Value> wide;
    for (Value x : operands) wide.push_back(wide_[x.id]);
    ir::Attrs attrs = r.from.attrs(old);
    if (r.from.op(old) == Op::pad) attrs.value = attrs.value.cast(DType::f32);
    wide_[old.id] = r.to.add(r.from.op(old), wide, attrs, r.from[old].location);
    in_memory_[old.id] = false;
  }

  /// The number of library calls and gathers from memory that a value comes after. What a later stage reads
  /// of an earlier one has been stored; a tensor that was broadcast is small, and worth keeping in f32.
  void set_stage(const Graph& g, Value old) {
    std::uint32_t stage = 0;
    for (Value x : g.operands(old)) stage = std::max(stage, stage_[x.id]);
    const Op op = g.op(old);
    const bool reads_memory = op == Op::matmul || (ir::is_gather(op) && !in_memory_[g.operands(old)[0].id]);
    stage_[old.id] = stage + (reads_memory ? 1 : 0);
  }

  bool rounds_always_;
  std::vector<Value> wide_;           // by old id; only where the value is not in memory
  std::vector<std::uint32_t> stage_;  // by old id
  std::vector<bool> in_memory_;       // by old id: the value has been rounded, and reading it costs 16 bits
};

}  // namespace

Graph decide_precision(const Graph& graph, const PassContext& context) {
  PrecisionDecider decider(graph, context.numerics == Numerics::strict);
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) { return decider.visit(r, old); });
}

bool precision_is_decided(const Graph& graph) {
  const std::vector<std::uint32_t> last = ir::last_readers(graph);
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Value v{id};
    if (last[id] == ir::never_read || !computes(graph.op(v))) continue;
    if (is_16bit_float(graph.dtype(v))) return false;
    for (Value x : graph.operands(v))
      if (is_16bit_float(graph.dtype(x))) return false;
  }
  return true;
}

}  // namespace sinter::passes
