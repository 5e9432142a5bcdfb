#include "passes/simplify.h"

#include <algorithm>
#include <array>

#include "ir/rewrite.h"
#include "passes/fold_constants.h"
#include "passes/narrow_values.h"
#include "passes/precision.h"
#include "passes/rules.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Value;

/// A rule of algebra with its text read.
struct ParsedRule {
  const AlgebraRule* rule;
  Pattern from, to;
};

/// By op: the rules whose root it is, in the tables' order.
struct RuleIndex {
  struct Entry {
    std::vector<ParsedRule> algebra;
    std::vector<const CodedRule*> coded;
  };
  std::array<Entry, ir::all_ops.size()> by_op;

  const Entry& of(Op op) const { return by_op[static_cast<std::size_t>(op)]; }
};

const RuleIndex& rule_index() {
  static const RuleIndex index = [] {
    RuleIndex built;
    for (const AlgebraRule& rule : algebra_rules()) {
      Pattern from = parse_pattern(rule.from);
      auto& entry = built.by_op[static_cast<std::size_t>(from.terms[0].op)];
      entry.algebra.push_back({&rule, std::move(from), parse_pattern(rule.to)});
    }
    for (auto table : {cast_rules(), movement_rules(), composition_rules()})
      for (const CodedRule& rule : table)
        for (Op op : ir::all_ops)
          if (rule.roots(op)) built.by_op[static_cast<std::size_t>(op)].coded.push_back(&rule);
    return built;
  }();
  return index;
}

class Simplifier {
 public:
  Simplifier(Graph& graph, Numerics numerics, bool precision_decided)
      : graph_(graph), numerics_(numerics), precision_decided_(precision_decided) {}

  /// The simplest form of a node of the new graph, of the same dtype and shape.
  Value simplified(Value v, bool ends_narrow, std::source_location where) {
    where_ = where;
    ends_narrow_ = ends_narrow;
    budget_ = max_applications;
    return simplified(v);
  }

 private:
  // Results of rules are simplified as they are made, a few levels deep and a bounded number of times for
  // each node visited, so that time is linear whatever the rules are. What is left over a later run finds.
  static constexpr int max_depth = 8;
  static constexpr int max_applications = 64;

  Value simplified(Value v) {
    while (budget_ > 0) {
      const Value next = apply_first(v);
      if (!next.valid()) break;
      --budget_;
      v = with_shape_of(v, next);
    }
    return v;
  }

  /// Constants are folded at once, for rules would move them about for ever.
  Value make(Op op, std::span<const Value> operands, const ir::Attrs& attrs) {
    if (const Value folded = fold(graph_, op, operands, attrs, numerics_, where_); folded.valid())
      return folded;
    const Value v = graph_.add(op, operands, attrs, where_);
    if (depth_ >= max_depth) return v;
    ++depth_;
    const Value result = simplified(v);
    --depth_;
    return result;
  }

  bool is_of_constants(Value v) const {
    return ir::is_elementwise(graph_.op(v)) &&
           std::ranges::all_of(graph_.operands(v), [&](Value x) { return graph_.op(x) == Op::constant; });
  }

  /// A rule may leave a scalar where the operand that spread it has gone.
  Value with_shape_of(Value old, Value now) {
    if (graph_[old].shape == graph_[now].shape) return now;
    ir::Attrs attrs;
    attrs.shape = graph_.shape(old);
    return make(Op::broadcast_to, {&now, 1}, attrs);
  }

  bool may_apply(RuleClass c, Value v) const {
    const bool early = !precision_decided_ && is_16bit_float(graph_.dtype(v)) && waits_for_precision(c);
    return !early && allowed(c, numerics_, ends_narrow_);
  }

  Value apply_first(Value v) {
    if (is_of_constants(v)) return {};  // to be folded, not moved about
    const RuleIndex::Entry& entry = rule_index().of(graph_.op(v));
    for (const ParsedRule& rule : entry.algebra)
      if (const Value next = apply(rule, v); next.valid()) return next;
    const RuleContext context{graph_, precision_decided_, make_};
    for (const CodedRule* rule : entry.coded) {
      if (!may_apply(rule->rule_class, v)) continue;
      if (const Value next = rule->apply(context, v); next.valid() && next != v) return next;
    }
    return {};
  }

  Value apply(const ParsedRule& parsed, Value v) {
    const AlgebraRule& rule = *parsed.rule;
    if (!may_apply(rule.rule_class, v)) return {};
    PatternBindings bindings;
    if (!match(graph_, v, parsed.from, bindings)) return {};
    if (!admits(rule.types, graph_.dtype(bindings['x'].valid() ? bindings['x'] : v))) return {};
    if (rule.when && !rule.when(graph_.attrs(bindings['k']).value)) return {};
    return instantiate(graph_, parsed.to, bindings, graph_.dtype(v),
                       [this](Op op, std::span<const Value> operands) { return make(op, operands, {}); });
  }

  Graph& graph_;
  Numerics numerics_;
  bool precision_decided_;
  std::source_location where_;
  bool ends_narrow_ = false;  // of the node visited, which whatever is made in its place feeds
  int depth_ = 0;
  int budget_ = 0;
  std::function<Value(Op, std::span<const Value>, const ir::Attrs&)> make_ =
      [this](Op op, std::span<const Value> operands, const ir::Attrs& attrs) {
        return make(op, operands, attrs);
      };
};

}  // namespace

Graph simplify(const Graph& graph, const PassContext& context) {
  const bool decided = precision_is_decided(graph);
  const std::vector<bool> narrow = narrow_values(graph);
  std::optional<Simplifier> simplifier;
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) {
    if (!simplifier) simplifier.emplace(r.to, context.numerics, decided);
    return simplifier->simplified(r.copy(old), narrow[old.id], graph[old].location);
  });
}

}  // namespace sinter::passes
