#include "passes/sink_reshapes.h"

#include <algorithm>
#include <optional>
#include <span>

#include "ir/liveness.h"
#include "ir/rewrite.h"

namespace sinter::passes {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Op;
using ir::Shape;
using ir::Value;

/// Neighbouring axes of one shape that have the elements of neighbouring axes of another.
struct AxisGroup {
  std::vector<Dim> from, to;
};

Dim product(std::span<const Dim> dims) {
  Dim all(1);
  for (const Dim& d : dims) all = all * d;
  return all;
}

/// The smallest groups of axes by which a reshape goes; nothing where lengths do not tell.
std::optional<std::vector<AxisGroup>> axis_groups(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  int i = 0, j = 0;
  while (i < from.rank() || j < to.rank()) {
    AxisGroup group;
    if (i < from.rank()) group.from.push_back(from[i++]);
    if (j < to.rank()) group.to.push_back(to[j++]);
    for (;;) {
      const Dim a = product(group.from), b = product(group.to);
      if (a == b) break;
      // The smaller one goes on; of symbols, that with more axes left.
      const bool extends_from = a.is_constant() && b.is_constant()   ? a.value() < b.value()
                                : a.is_constant() || b.is_constant() ? a.is_constant()
                                                                     : from.rank() - i > to.rank() - j;
      if (extends_from ? i == from.rank() : j == to.rank()) return std::nullopt;
      if (extends_from)
        group.from.push_back(from[i++]);
      else
        group.to.push_back(to[j++]);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

/// The shape in which an operand of an operation in the shape `to` is one of the same operation in the shape
/// `from`.
std::optional<Shape> shape_before(const Shape& operand, const std::vector<AxisGroup>& groups) {
  std::size_t rank = 0;
  for (const AxisGroup& g : groups) rank += g.to.size();
  std::vector<Dim> padded(rank - static_cast<std::size_t>(operand.rank()), Dim(1));
  padded.insert(padded.end(), operand.begin(), operand.end());
  std::vector<Dim> before;
  std::size_t at = 0;
  for (const AxisGroup& g : groups) {
    const std::span<const Dim> own(padded.data() + at, g.to.size());
    at += g.to.size();
    if (std::ranges::equal(own, g.to))
      before.insert(before.end(), g.from.begin(), g.from.end());
    else if (std::ranges::all_of(own, [](const Dim& d) { return d.is(1); }))
      before.insert(before.end(), g.from.size(), Dim(1));
    else
      return std::nullopt;
  }
  return Shape(std::move(before));
}

/// By node id: whether a fold reads the value, or what is computed from it.
std::vector<bool> folded_later(const Graph& graph) {
  const std::vector<std::uint32_t> last = ir::last_readers(graph);
  std::vector<bool> folded(graph.size());
  for (auto id = static_cast<std::uint32_t>(graph.size()); id-- > 0;) {
    const Value v{id};
    if (last[id] == ir::never_read || graph.op(v) == Op::matmul) continue;
    if (folded[id] || ir::is_reduction(graph.op(v)))
      for (Value x : graph.operands(v)) folded[x.id] = true;
  }
  return folded;
}

class Sinker {
 public:
  explicit Sinker(const Graph& from) : folded_later_(folded_later(from)) {}

  Value visit(ir::Rewriter& r, Value old) {
    const Graph& g = r.to;
    if (ir::is_elementwise(r.from.op(old)) && !folded_later_[old.id]) {
      const std::vector<Value> operands(r.operands(old).begin(), r.operands(old).end());
      for (Value x : operands)
        if (g.op(x) == Op::reshape && g.shape(x) == r.from.shape(old) && is_of_rows(g, g.operands(x)[0]))
          if (const Value sunk = sink(r, old, operands, g.operands(x)[0]); sunk.valid()) return sunk;
    }
    return r.copy(old);
  }

 private:
  /// Whether it is a result of a fold, or computed from one elementwise or moved.
  bool comes_from_fold(const Graph& g, Value v) {
    for (auto id = static_cast<std::uint32_t>(from_fold_.size()); id < g.size(); ++id) {
      const Value u{id};
      const bool passes_on = ir::is_elementwise(g.op(u)) || ir::is_movement(g.op(u));
      from_fold_.push_back(
          ir::is_reduction(g.op(u)) ||
          (passes_on && std::ranges::any_of(g.operands(u), [&](Value x) { return from_fold_[x.id]; })));
    }
    return from_fold_[v.id];
  }

  bool is_of_rows(const Graph& g, Value v) { return ir::is_elementwise(g.op(v)) && comes_from_fold(g, v); }

  /// The operation in the shape of `rows`, in its own shape again; nothing where an operand does not go
  /// along.
  Value sink(ir::Rewriter& r, Value old, std::span<const Value> operands, Value rows) {
    Graph& g = r.to;
    const Shape& after = r.from.shape(old);
    const Shape shape = g.shape(rows);
    const std::source_location where = r.from[old].location;
    const auto groups = axis_groups(shape, after);
    if (!groups) return {};
    struct Operand {
      Value source;
      Shape shape;
    };
    std::vector<Operand> before;
    for (Value v : operands) {
      const Op op = g.op(v);
      if (g.shape(v).rank() == 0) {
        before.push_back({v, {}});
        continue;
      }
      const Value source = op == Op::reshape || op == Op::broadcast_to ? g.operands(v)[0] : v;
      if (op == Op::reshape && g.shape(source) == shape) {
        before.push_back({source, shape});
        continue;
      }
      const bool in_memory = ir::is_movement(op) || op == Op::input || op == Op::matmul;
      if (!in_memory || comes_from_fold(g, v)) return {};
      const Value x = op == Op::broadcast_to ? source : v;
      const std::optional<Shape> own = shape_before(g.shape(x), *groups);
      if (!own) return {};
      before.push_back({x, *own});
    }
    std::vector<Value> moved;
    for (const Operand& o : before) {
      const bool scalar = g.shape(o.source).rank() == 0;
      const Value x = scalar ? o.source : with_shape(g, Op::reshape, o.source, o.shape, where);
      moved.push_back(scalar ? x : with_shape(g, Op::broadcast_to, x, shape, where));
    }
    const Value result = g.add(r.from.op(old), moved, r.from.attrs(old), where);
    return with_shape(g, Op::reshape, result, after, where);
  }

  static Value with_shape(Graph& g, Op op, Value v, const Shape& shape, std::source_location where) {
    if (g.shape(v) == shape) return v;
    ir::Attrs attrs;
    attrs.shape = shape;
    return g.add(op, {&v, 1}, attrs, where);
  }

  std::vector<bool> folded_later_;  // of the old graph
  std::vector<bool> from_fold_;     // of the new one
};

}  // namespace

Graph sink_reshapes(const Graph& graph, const PassContext&) {
  Sinker sinker(graph);
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) { return sinker.visit(r, old); });
}

}  // namespace sinter::passes
