#include "ir/rewrite.h"

#include <algorithm>

#include "ir/base/check.h"
#include "ir/liveness.h"

namespace sinter::ir {

std::span<const Value> Rewriter::operands(Value old) {
  scratch_.clear();
  for (Value v : from.operands(old)) scratch_.push_back(map_[v.id]);
  return scratch_;
}

Value Rewriter::copy(Value old) {
  return to.add(from.op(old), operands(old), from.attrs(old), from[old].location);
}

Graph rewrite(const Graph& from, const Visitor& visit) {
  Graph to(from.name());
  to.facts() = from.facts();
  Rewriter rewriter(from, to);
  for (Value v : from.inputs())
    rewriter.map_[v.id] = to.input(from.attrs(v).name, from.dtype(v), from.shape(v), from[v].location);
  const std::vector<std::uint32_t> last = last_readers(from);
  for (std::uint32_t id = 0; id < from.size(); ++id) {
    const Value old{id};
    if (last[id] == never_read || from.op(old) == Op::input) continue;
    const Value now = visit(rewriter, old);
    SINTER_ASSERT(now.id < to.size() && to.dtype(now) == from.dtype(old) && to.shape(now) == from.shape(old),
                  "{} {}{} became {}", describe(from, from.op(old), from.operands(old)),
                  name(from.dtype(old)), from.shape(old).str(),
                  now.id < to.size() ? describe(to, to.op(now), to.operands(now)) : "nothing");
    rewriter.map_[id] = now;
  }
  for (const Output& o : from.outputs()) to.output(rewriter.map_[o.value.id], o.name);
  return to;
}

Graph without_dead_nodes(const Graph& graph) {
  return rewrite(graph, [](Rewriter& r, Value v) { return r.copy(v); });
}

std::vector<std::uint32_t> count_uses(const Graph& graph) {
  const std::vector<std::uint32_t> last = last_readers(graph);
  std::vector<std::uint32_t> uses(graph.size(), 0);
  for (const Output& o : graph.outputs()) ++uses[o.value.id];
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    if (last[id] != never_read)
      for (Value v : graph.operands(Value{id})) ++uses[v.id];
  return uses;
}

bool equal(const Graph& a, const Graph& b) {
  if (a.size() != b.size() || !(a.facts() == b.facts()) || a.inputs() != b.inputs()) return false;
  const auto same_output = [](const Output& x, const Output& y) {
    return x.value == y.value && x.name == y.name;
  };
  if (!std::ranges::equal(a.outputs(), b.outputs(), same_output)) return false;
  for (std::uint32_t id = 0; id < a.size(); ++id) {
    const Value v{id};
    if (a.op(v) != b.op(v) || !std::ranges::equal(a.operands(v), b.operands(v))) return false;
    if (a.operands(v).empty() || !is_elementwise(a.op(v)) || a.op(v) == Op::cast)
      if (!(a.attrs(v) == b.attrs(v))) return false;
  }
  return true;
}

}  // namespace sinter::ir
