// The fuser. It walks the nodes in order and lets each join the groups of its operands while that is legal
// and pays:
//
//  - a group is a kernel over one domain: the shape of its elementwise nodes, or of what its reductions
//    fold; nodes without the folded axes are computed once per row;
//  - a node joins a producer's group when it walks over the same elements in the same order (axis_trace.h),
//    or over one element per row; an elementwise producer whose only reader is the node joins through any
//    movement op;
//  - two groups never join when a third lies on a path between them, or when one reads the other's result
//    at other positions;
//  - what cannot join is stored and read again, unless computing it again is cheaper (cast, scale, mask);
//  - a concat of many tensors, which several kernels write, joins neither folds nor what reads it
//    elsewhere, nor another such;
//  - a group that folds rows takes in reductions across them where the device can (fuse_across.cpp);
//  - at last, groups over one domain that read the same memory join, even if neither needs the other.
//
// With SINTER_FUSION=elementwise, nodes that are not elementwise stay alone in their groups, but for casts of
// what they read and give.
//
// Each refusal is kept with its reason. The walk looks at each edge once, and searches for paths only among
// groups that can depend on nodes as late as those of the two, so it is near linear.
#include <algorithm>

#include "ir/base/check.h"
#include "ir/base/settings.h"
#include "passes/fuser.h"

namespace sinter::passes {

using ir::Op;
using ir::Value;

bool is_computed(Op op) {
  return ir::is_elementwise(op) || ir::is_reduction(op) || ir::is_gather(op) || ir::is_scatter(op) ||
         ir::is_search(op) || op == Op::matmul || op == Op::pad || op == Op::concat || op == Op::random_bits;
}

bool joins_many(const ir::Graph& graph, Value node, int most) {
  return graph.op(node) == Op::concat && std::ssize(graph.operands(node)) > most;
}

Partition fuse(const ir::Graph& graph, const InputStrides& inputs, const ProductLibrary& library,
               const FusionOptions& options) {
  return Fuser(graph, inputs, library, options).run();
}

Fuser::Fuser(const ir::Graph& graph, const InputStrides& inputs, const ProductLibrary& library,
             const FusionOptions& options)
    : g_(graph),
      library_(library),
      elementwise_only_(settings().fusion == "elementwise"),
      options_(options),
      computed_(graph.size()),
      users_(graph.size()),
      cost_(graph.size(), 1 << 20),
      leaves_(graph.size(), 1 << 20),
      signature_(graph.size()),
      group_of_(graph.size(), -1),
      alignment_(graph.size()),
      after_(graph.size(), false) {
  classify(inputs);
  count_users();
  measure_cost();
}

Partition Fuser::run() {
  for (std::uint32_t id = 0; id < g_.size(); ++id)
    if (computed_[id] && users_[id] != 0) visit(Value{id});
  join_siblings();
  return assemble();
}

void Fuser::classify(const InputStrides& inputs) {
  views_ = memory_views(g_, inputs, library_);
  for (std::uint32_t id = 0; id < g_.size(); ++id) computed_[id] = is_computed(g_.op(Value{id}));
  // A movement or generator whose result must be in memory, but is no view of any, is stored by a kernel of
  // its own.
  auto must_be_memory = [&](Value v) {
    if (!views_[v.id] || views_[v.id]->base == v) computed_[v.id] = g_.op(v) != Op::input;
  };
  for (const ir::Output& out : g_.outputs()) must_be_memory(out.value);
  for (std::uint32_t id = 0; id < g_.size(); ++id) {
    const Op op = g_.op(Value{id});
    const std::span<const Value> operands = g_.operands(Value{id});
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (op == Op::matmul || ir::reads_memory(op, i)) must_be_memory(operands[i]);
  }
  std::vector<bool> roots = computed_;
  for (Value v : g_.inputs()) roots[v.id] = true;
  traces_ = trace_axes(g_, roots);
}

void Fuser::count_users() {
  for (const ir::Output& out : g_.outputs())
    if (Value s = traces_[out.value.id].source; s.valid()) ++users_[s.id];
  // Backwards, so that what only dead nodes read counts as dead.
  for (std::uint32_t id = static_cast<std::uint32_t>(g_.size()); id-- > 0;) {
    if (!computed_[id] || users_[id] == 0) continue;
    for (Value operand : g_.operands(Value{id}))
      if (Value s = traces_[operand.id].source; s.valid()) ++users_[s.id];
  }
}

void Fuser::measure_cost() {
  for (std::uint32_t id = 0; id < g_.size(); ++id) {
    const Value v{id};
    const Op op = g_.op(v);
    if (op == Op::input || op == Op::matmul) {
      cost_[id] = 0;
      leaves_[id] = 1;
    }
    if (!ir::is_elementwise(op)) continue;
    int cost = ir::elementwise_info(op).flops, leaves = 0;
    for (Value operand : g_.operands(v))
      if (Value s = traces_[operand.id].source; s.valid()) {
        cost = std::min(cost + cost_[s.id], 1 << 20);
        leaves = std::min(leaves + leaves_[s.id], 1 << 20);
      }
    cost_[id] = cost;
    leaves_[id] = leaves;
  }
}

std::vector<Fuser::Edge> Fuser::edges_of(Value node) const {
  const Op op = g_.op(node);
  const bool pointwise = ir::is_elementwise(op) || ir::is_reduction(op) || ir::is_search(op);
  std::vector<Edge> edges;
  const std::span<const Value> operands = g_.operands(node);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const AxisTrace& t = traces_[operands[i].id];
    if (!t.source.valid()) continue;
    const bool own_index = op == Op::take_along_axis && i == 1;  // the index tensor has the result's shape
    const bool from_memory = ir::reads_memory(op, i);
    edges.push_back({operands[i], &t, (pointwise || own_index) && t.simple && !from_memory, from_memory});
  }
  return edges;
}

void Fuser::visit(Value node) {
  if (const int product = product_with_bias(node); product >= 0) return add_bias(product, node);
  std::vector<Edge> edges = edges_of(node);
  const int group = start_group(node, edges);
  if (groups_[static_cast<std::size_t>(group)].kind == GroupKind::gemm) {
    for (const Edge& e : edges) {
      read_stored(group, e.trace->source);
      refusals_.push_back({e.trace->source, node, "matrix products run in the library"});
    }
    return;
  }
  for (const Edge& e : edges) {
    if (!e.from_memory || group_of_[e.trace->source.id] < 0) continue;
    read_stored(group, e.trace->source);
    refusals_.push_back({e.trace->source, node, "it is searched, and lies in memory for that"});
  }
  std::erase_if(edges, [](const Edge& e) { return e.from_memory; });
  // Producers' groups, the latest first: what an earlier group feeds is then already on this side.
  std::vector<int> producers;
  for (const Edge& e : edges) {
    const Value s = e.trace->source;
    if (group_of_[s.id] >= 0 && groups_[static_cast<std::size_t>(group_of(s))].kind == GroupKind::kernel)
      producers.push_back(group_of(s));
  }
  std::ranges::sort(producers, std::ranges::greater{},
                    [&](int p) { return groups_[static_cast<std::size_t>(p)].last; });
  for (int p : producers) {
    if (find(p) == find(group)) continue;
    std::vector<Edge> own;
    std::ranges::copy_if(edges, std::back_inserter(own), [&](const Edge& e) {
      return group_of_[e.trace->source.id] >= 0 && group_of(e.trace->source) == find(p);
    });
    if (own.empty()) continue;
    const std::string refused = merge(find(p), node, own);
    if (refused.empty()) continue;
    for (const Edge& e : own) {
      const Value s = e.trace->source;
      if (is_copied(s, groups_[static_cast<std::size_t>(find(group))]))
        copy_into(s, find(group));
      else {
        read_stored(find(group), s);
        refusals_.push_back({s, node, refused});
      }
    }
  }
  if (Building& all = groups_[static_cast<std::size_t>(find(group))];
      joins_many(g_, node, options_.most_joined)) {
    all.part_ops = static_cast<int>(all.nodes.size() + all.copies.size());
    all.part_sources = all.sources;
    std::ranges::sort(all.part_sources);
  }
}

/// The axes of a sum over segments: those of the result, and after the one that is scattered along the order.
ir::Shape Fuser::segment_domain(Value node) const {
  if (ir::scatter_form(g_.op(node)) != ir::ScatterForm::by_segment)
    fail<ValueError>("{}: runs as what the pass lower_scatters makes of it, and that is switched off",
                     ir::describe(g_, g_.op(node), g_.operands(node)));
  std::vector<ir::Dim> dims = g_.shape(node).dims();
  dims.insert(dims.begin() + g_.attrs(node).axes[0] + 1, g_.shape(g_.operands(node)[1])[0]);
  return ir::Shape(std::move(dims));
}

int Fuser::start_group(Value node, const std::vector<Edge>& edges) {
  const int id = static_cast<int>(groups_.size());
  Building group;
  const Op op = g_.op(node);
  group.kind = op == Op::matmul ? GroupKind::gemm : GroupKind::kernel;
  group.nodes = {node};
  group.first = group.last = group.horizon = node.id;
  const bool segments = ir::is_scatter(op), reduction = ir::is_reduction(op) || segments;
  group.alone = elementwise_only_ && !ir::is_elementwise(op);
  group.in_parts = joins_many(g_, node, options_.most_joined);
  group.written = segments    ? segment_domain(node)
                  : reduction ? g_.shape(g_.operands(node)[0])
                              : g_.shape(node);
  group.has_reduction = reduction;
  group.in_segments = segments;
  group.reductions = reduction;
  std::vector<int> domain_axis;  // of the written shape
  for (const ir::Dim& d : group.written) {
    domain_axis.push_back(d.is(1) ? -1 : static_cast<int>(group.domain.size()));
    if (!d.is(1)) group.domain.push_back(d);
  }
  group.reduced.assign(group.domain.size(), false);
  Alignment& alignment = alignment_[node.id];
  const ir::Attrs& attrs = g_.attrs(node);
  for (int i = 0; i < group.written.rank(); ++i) {
    // What a segment adds up lies along an axis of its own, after that of the result.
    const bool folded =
        reduction && (segments ? i == attrs.axes[0] + 1 : std::ranges::binary_search(attrs.axes, i));
    if (folded && domain_axis[static_cast<std::size_t>(i)] >= 0)
      group.reduced[static_cast<std::size_t>(domain_axis[static_cast<std::size_t>(i)])] = true;
    if (!folded)
      alignment.push_back(domain_axis[static_cast<std::size_t>(i)]);
    else if (attrs.keepdims)
      alignment.push_back(-1);
  }
  Value back = node;
  std::uint64_t signature = 0;
  for (int step = 0; step < 8 && back.valid(); ++step) {
    signature = (signature ^ (static_cast<std::uint64_t>(g_.op(back)) * 16 +
                              static_cast<std::uint64_t>(g_.dtype(back)) + 1)) *
                0x9e3779b97f4a7c15u;
    signature ^= signature >> 31;
    back = g_.operands(back).empty() ? Value{} : traces_[g_.operands(back)[0].id].source;
  }
  signature_[node.id] = signature;
  groups_.push_back(std::move(group));
  parent_.push_back(id);
  group_of_[node.id] = id;
  for (const Edge& e : edges)
    if (group_of_[e.trace->source.id] < 0 ||
        groups_[static_cast<std::size_t>(group_of(e.trace->source))].kind == GroupKind::gemm)
      read_stored(id, e.trace->source);
  return id;
}

void Fuser::read_stored(int group, Value source) {
  groups_[static_cast<std::size_t>(group)].sources.push_back(source);
  if (group_of_[source.id] < 0) return;
  Building& from = groups_[static_cast<std::size_t>(group_of(source))];
  from.readers.push_back(group);
  raise_horizon(group, from.horizon);
}

void Fuser::raise_horizon(int group, std::uint32_t node) {
  std::vector<int> pending{group};
  while (!pending.empty()) {
    Building& g = groups_[static_cast<std::size_t>(find(pending.back()))];
    pending.pop_back();
    if (g.horizon >= node) continue;
    g.horizon = node;
    pending.insert(pending.end(), g.readers.begin(), g.readers.end());
  }
}

/// Whether a value is computed again where it is needed, rather than stored.
bool Fuser::is_copied(Value v, const Building& into) const {
  if (into.alone) return g_.op(v) == Op::cast && cost_[v.id] <= ir::elementwise_info(Op::cast).flops;
  return cost_[v.id] <= budget_.cheap_flops && leaves_[v.id] <= budget_.cheap_leaves;
}

void Fuser::copy_into(Value v, int group) {
  Building& into = groups_[static_cast<std::size_t>(group)];
  std::vector<Value> pending{v};
  while (!pending.empty()) {
    const Value next = pending.back();
    pending.pop_back();
    if (!ir::is_elementwise(g_.op(next))) {
      read_stored(group, next);
      continue;
    }
    into.copies.push_back(next);
    for (Value operand : g_.operands(next))
      if (Value s = traces_[operand.id].source; s.valid()) pending.push_back(s);
  }
}

int Fuser::find(int group) {
  while (parent_[static_cast<std::size_t>(group)] != group) {
    int& up = parent_[static_cast<std::size_t>(group)];
    up = parent_[static_cast<std::size_t>(up)];
    group = up;
  }
  return group;
}

}  // namespace sinter::passes
