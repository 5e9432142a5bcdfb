#include "passes/merge_equal.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "ir/liveness.h"
#include "ir/rewrite.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Value;

ir::Shape folded_shape(const ir::Shape& s, const std::vector<std::int64_t>& axes, bool keepdims) {
  ir::Shape result;
  for (int i = 0; i < s.rank(); ++i) {
    const bool gone = std::ranges::binary_search(axes, i);
    if (!gone || keepdims) result.push_back(gone ? ir::Dim(1) : s[i]);
  }
  return result;
}

/// Decides for reductions that differ in keepdims only whether the one that stays keeps its axes.
class KeepdimsVote {
 public:
  explicit KeepdimsVote(const Graph& g) {
    const std::vector<std::uint32_t> last = ir::last_readers(g);
    for (std::uint32_t id = 0; id < g.size(); ++id) {
      const Value v{id};
      if (last[id] == ir::never_read) continue;
      for (Value x : g.operands(v))
        if (ir::is_reduction(g.op(x))) vote(g, x, g.op(v) == Op::reshape && g.shape(v) == other_form(g, x));
    }
    for (const ir::Output& o : g.outputs())
      if (ir::is_reduction(g.op(o.value))) vote(g, o.value, false);
  }

  bool keeps(const Graph& g, Value fold) const {
    const auto found = votes_.find(key(g, fold));
    return found == votes_.end() ? g.attrs(fold).keepdims : found->second >= 0;
  }

 private:
  using Key = std::tuple<Op, Value, std::vector<std::int64_t>>;  // op, operand, axes

  static Key key(const Graph& g, Value fold) { return {g.op(fold), g.operands(fold)[0], g.attrs(fold).axes}; }
  static ir::Shape other_form(const Graph& g, Value fold) {
    return folded_shape(g.shape(g.operands(fold)[0]), g.attrs(fold).axes, !g.attrs(fold).keepdims);
  }
  void vote(const Graph& g, Value fold, bool for_other) {
    votes_[key(g, fold)] += g.attrs(fold).keepdims != for_other ? 1 : -1;
  }

  std::map<Key, int> votes_;
};

class EqualMerger {
 public:
  explicit EqualMerger(const Graph& from) : vote_(from) {}

  Value visit(ir::Rewriter& r, Value old) {
    const Op op = r.from.op(old);
    if (ir::is_elementwise(op)) {
      const ir::ElementwiseInfo& info = ir::elementwise_info(op);
      if (info.arity == 2 && info.is(ir::commutative) && info.is(ir::exact)) return commuted(r, old);
    }
    return ir::is_reduction(op) ? folded(r, old) : r.copy(old);
  }

 private:
  struct Pair {
    Op op;
    Value low, high;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct PairHash {
    std::size_t operator()(const Pair& p) const {
      const std::uint64_t ids = std::uint64_t{p.low.id} << 32 | p.high.id;
      return (ids + static_cast<std::uint64_t>(p.op)) * 0x9e3779b97f4a7c15u >> 7;
    }
  };

  Value commuted(ir::Rewriter& r, Value old) {
    const auto operands = r.operands(old);
    const auto [low, high] = std::minmax(operands[0], operands[1]);
    const Pair key{r.from.op(old), low, high};
    Value& known = pairs_[key];
    if (!known.valid()) known = r.copy(old);
    return known;
  }

  Value folded(ir::Rewriter& r, Value old) {
    ir::Attrs attrs = r.from.attrs(old);
    attrs.keepdims = vote_.keeps(r.from, old);
    const Value result = r.to.add(r.from.op(old), r.operands(old), attrs, r.from[old].location);
    if (r.to.shape(result) == r.from.shape(old)) return result;
    ir::Attrs to;
    to.shape = r.from.shape(old);
    return r.to.add(Op::reshape, {&result, 1}, to, r.from[old].location);
  }

  KeepdimsVote vote_;
  std::unordered_map<Pair, Value, PairHash> pairs_;  // of the new graph
};

}  // namespace

Graph merge_equal(const Graph& graph, const PassContext&) {
  EqualMerger merger(graph);
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) { return merger.visit(r, old); });
}

}  // namespace sinter::passes
