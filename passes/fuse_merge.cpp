// When two groups may become one. The rules are in the head of passes/fuse.cpp.
#include <algorithm>

#include "ir/base/check.h"
#include "passes/fuser.h"

namespace sinter::passes {

using ir::Op;
using ir::Value;

std::string Fuser::merge(int producer, Value consumer, const std::vector<Edge>& edges) {
  const int target = group_of(consumer);
  Building &from = groups_[static_cast<std::size_t>(producer)],
           &to = groups_[static_cast<std::size_t>(target)];
  if (stays_alone(from, to)) return "SINTER_FUSION=elementwise fuses elementwise operations only";
  const bool is_part = joins_many(g_, consumer, options_.most_joined);
  if (std::string reason = is_part ? over_budget_of_part(from, to) : over_budget(from, to); !reason.empty())
    return reason;
  if (!from.has_reduction && !to.has_reduction && ends_chain(from, consumer))
    return "a long chain is cut here, so that kernels stay small";
  if (reads_stored(to, producer) || reads_stored(from, target))
    return "one of the two reads the other's result at other positions";
  const std::vector<Edge> all = edges_of(consumer);
  if (depends(target, producer, all) || depends(producer, target, {}))
    return "another launch lies between them";
  std::string reason = unify(producer, consumer, edges);
  if (reason.empty()) return reason;
  return inline_moved(producer, consumer, edges).empty() ? "" : reason;
}

bool Fuser::stays_alone(const Building& producer, const Building& consumer) const {
  if (!producer.alone && !consumer.alone) return false;
  return consumer.alone || consumer.nodes.size() > 1 || g_.op(consumer.nodes[0]) != Op::cast;
}

/// For what is joined with many others: one kernel computes it, and few of the others.
std::string Fuser::over_budget_of_part(const Building& part, const Building& whole) const {
  if (part.in_parts || part.has_reduction || whole.has_reduction)
    return "many tensors are joined by several kernels, each of which writes a part";
  const std::size_t ops = part.nodes.size() + part.copies.size();
  if (ops > static_cast<std::size_t>(budget_.cut_from) ||
      part.sources.size() > static_cast<std::size_t>(budget_.part_operands))
    return fmt::format(
        "it has {} operations and reads {} tensors, and one of many that are joined has {} and {}", ops,
        part.sources.size(), budget_.cut_from, budget_.part_operands);
  return "";
}

std::string Fuser::over_budget(const Building& a, const Building& b) const {
  const auto ops_of = [](const Building& g) {
    return static_cast<int>(g.nodes.size() + g.copies.size()) - g.part_ops;
  };
  const int ops = ops_of(a) + ops_of(b);
  if (ops > budget_.ops)
    return fmt::format("together they would have {} operations, and a kernel takes {}", ops, budget_.ops);
  if (a.reductions + b.reductions > budget_.reductions)
    return fmt::format("together they would have {} reductions, and a kernel takes {}",
                       a.reductions + b.reductions, budget_.reductions);
  if ((a.in_parts && (b.in_parts || b.has_reduction)) || (b.in_parts && a.has_reduction))
    return "many tensors are joined by several kernels, each of which writes a part";
  const std::size_t sources = a.sources.size() + b.sources.size();
  if (sources > static_cast<std::size_t>(budget_.operands)) {
    std::vector<Value> distinct = a.sources;
    distinct.insert(distinct.end(), b.sources.begin(), b.sources.end());
    for (const std::vector<Value>* parts : {&a.part_sources, &b.part_sources})
      std::erase_if(distinct, [&](Value v) { return std::ranges::binary_search(*parts, v); });
    std::ranges::sort(distinct);
    const auto repeated = std::ranges::unique(distinct);
    const std::size_t count = distinct.size() - repeated.size();
    if (count > static_cast<std::size_t>(budget_.operands))
      return fmt::format("together they would read {} tensors, and a kernel reads {}", count,
                         budget_.operands);
  }
  return "";
}

bool Fuser::ends_chain(const Building& chain, Value next) const {
  const auto size = std::ssize(chain.nodes) - chain.part_ops;
  if (size < budget_.cut_from) return false;
  // The place whose signature is least among its neighbours is the same in every repetition of a block.
  return std::all_of(chain.nodes.end() - budget_.cut_from, chain.nodes.end(),
                     [&](Value v) { return signature_[next.id] <= signature_[v.id]; });
}

bool Fuser::reads_stored(const Building& reader, int producer) {
  return std::ranges::any_of(reader.sources,
                             [&](Value s) { return group_of_[s.id] >= 0 && group_of(s) == producer; });
}

bool Fuser::depends(int later, int earlier, std::span<const Edge> also) {
  // Does a path lead from `earlier` to `later` through some third group?
  constexpr std::size_t visit_limit = 512;
  std::vector<int> pending, seen;
  auto reach = [&](Value source) {
    if (group_of_[source.id] < 0) return;
    const int group = group_of(source);
    if (group == earlier || group == later) return;
    if (groups_[static_cast<std::size_t>(group)].horizon < groups_[static_cast<std::size_t>(earlier)].first)
      return;
    if (std::ranges::find(seen, group) != seen.end()) return;
    seen.push_back(group);
    pending.push_back(group);
  };
  for (Value s : groups_[static_cast<std::size_t>(later)].sources) reach(s);
  for (const Edge& e : also) reach(e.trace->source);
  while (!pending.empty()) {
    if (seen.size() > visit_limit) return true;
    const int group = pending.back();
    pending.pop_back();
    for (Value s : groups_[static_cast<std::size_t>(group)].sources) {
      if (group_of_[s.id] >= 0 && group_of(s) == earlier) return true;
      reach(s);
    }
  }
  return false;
}

Fuser::Alignment Fuser::operand_alignment(Value consumer) const {
  if (!ir::is_reduction(g_.op(consumer))) return alignment_[consumer.id];
  Alignment axes;
  int next = 0;
  for (const ir::Dim& d : g_.shape(g_.operands(consumer)[0])) axes.push_back(d.is(1) ? -1 : next++);
  return axes;
}

/// Where the axes of `inner` lie in the domain of `outer`: all of them, or those that are not folded (one
/// element a row); for what reads results of folds across rows, those that are. Nothing where none fits.
std::optional<Fuser::Alignment> Fuser::embedding(const Building& inner, const Building& outer,
                                                 const std::vector<Edge>& edges) const {
  Alignment all, kept, folded;
  std::vector<ir::Dim> rows, row;
  for (std::size_t i = 0; i < outer.domain.size(); ++i) {
    all.push_back(static_cast<int>(i));
    (outer.reduced[i] ? folded : kept).push_back(static_cast<int>(i));
    (outer.reduced[i] ? row : rows).push_back(outer.domain[i]);
  }
  if (reads_across(edges)) {
    const bool fits = !inner.has_reduction && inner.domain == row &&
                      std::ranges::all_of(edges, [&](const Edge& e) { return is_after(e); });
    return fits ? std::optional(folded) : std::nullopt;
  }
  const bool whole_rows = !inner.in_segments && !outer.in_segments;
  if (whole_rows && inner.domain == outer.domain && (!inner.has_reduction || inner.reduced == outer.reduced))
    return all;
  if (!inner.has_reduction && inner.domain == rows) return kept;
  return std::nullopt;
}

std::string Fuser::unify(int producer, Value consumer, const std::vector<Edge>& edges) {
  const int target = group_of(consumer);
  Building &from = groups_[static_cast<std::size_t>(producer)],
           &to = groups_[static_cast<std::size_t>(target)];
  const bool from_is_outer = from.has_reduction;
  Building &outer = from_is_outer ? from : to, &inner = from_is_outer ? to : from;
  std::optional<Alignment> axes = embedding(inner, outer, edges);
  const bool across = !axes && !reads_across(edges) && are_rows_and_columns(from, to);
  if (across) {
    axes.emplace();
    for (std::size_t i = 0; i < outer.domain.size(); ++i) axes->push_back(static_cast<int>(i));
  }
  if (!axes) {
    if (from.has_reduction && to.has_reduction) return "they fold different axes";
    return fmt::format("they walk over different elements: {} and {}", from.written.str(), to.written.str());
  }
  auto in_outer = [&](bool of_inner, int axis) {
    return of_inner ? (*axes)[static_cast<std::size_t>(axis)] : axis;
  };
  const Alignment reader = operand_alignment(consumer);
  for (const Edge& e : edges) {
    if (!e.same_elements) return "it is read at other positions";
    const Alignment& written = alignment_[e.trace->source.id];
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (written[i] < 0) continue;
      const int through = e.trace->axis[i];
      const int read = through < 0 ? -1 : reader[static_cast<std::size_t>(through)];
      if (read < 0 || in_outer(from_is_outer, read) != in_outer(!from_is_outer, written[i]))
        return "it is read with its axes in other places";
    }
  }
  if (across) return fold_across(producer, target, edges);
  if (reads_across(edges))
    for (Value v : inner.nodes) after_[v.id] = true;
  embed(inner, *axes);
  inner.domain = outer.domain;
  inner.reduced = outer.reduced;
  inner.written = outer.written;
  inner.has_reduction = outer.has_reduction;
  absorb(producer, target);
  return "";
}

void Fuser::embed(Building& group, const Alignment& axes) {
  for (Value v : group.nodes)
    for (int& axis : alignment_[v.id])
      if (axis >= 0) axis = axes[static_cast<std::size_t>(axis)];
}

std::string Fuser::inline_moved(int producer, Value consumer, const std::vector<Edge>& edges) {
  Building& from = groups_[static_cast<std::size_t>(producer)];
  const Value p = edges[0].trace->source;
  if (from.in_parts) return "several kernels write it";
  if (from.has_reduction || edges.size() != 1 || users_[p.id] != 1) return "others read it, too";
  // No other node of the producer's group may be read from outside.
  std::uint32_t uses = 0, own_uses = 1;
  for (Value v : from.nodes) {
    uses += users_[v.id];
    for (const Edge& e : edges_of(v))
      own_uses += group_of_[e.trace->source.id] >= 0 && group_of(e.trace->source) == producer;
  }
  if (uses != own_uses) return "others read it, too";
  // Under a broadcast the producer would be computed once per element that it reaches.
  const ir::Dim once = g_.shape(p).elements();
  const ir::Shape& space =
      ir::is_reduction(g_.op(consumer)) ? g_.shape(g_.operands(consumer)[0]) : g_.shape(consumer);
  int flops = 0;
  for (Value v : from.nodes)
    flops += ir::is_elementwise(g_.op(v)) ? ir::elementwise_info(g_.op(v)).flops : budget_.cheap_flops;
  if (!once.is(1) && !(once == space.elements()) && ir::is_elementwise(g_.op(consumer)) &&
      flops > budget_.cheap_flops)
    return "computing it for each element that reads it costs more than storing it";
  for (Value v : from.nodes) {
    alignment_[v.id].clear();  // it lies at other places of the domain now, maybe at several
  }
  Building& to = groups_[static_cast<std::size_t>(group_of(consumer))];
  from.domain = to.domain;
  from.reduced = to.reduced;
  from.written = to.written;
  from.has_reduction = to.has_reduction;
  absorb(producer, group_of(consumer));
  return "";
}

void Fuser::absorb(int a, int b) {
  Building *large = &groups_[static_cast<std::size_t>(a)], *small = &groups_[static_cast<std::size_t>(b)];
  if (large->nodes.size() < small->nodes.size()) {
    std::swap(large, small);
    std::swap(a, b);
  }
  auto append = [](std::vector<Value>& to, std::vector<Value>& from) {
    to.insert(to.end(), from.begin(), from.end());
    from = {};
  };
  append(large->nodes, small->nodes);
  append(large->copies, small->copies);
  append(large->sources, small->sources);
  append(large->across, small->across);
  large->readers.insert(large->readers.end(), small->readers.begin(), small->readers.end());
  small->readers = {};
  large->alone = large->alone || small->alone;
  large->in_segments = large->in_segments || small->in_segments;
  large->in_parts = large->in_parts || small->in_parts;
  large->part_ops += small->part_ops;
  append(large->part_sources, small->part_sources);
  large->reductions += small->reductions;
  large->first = std::min(large->first, small->first);
  large->last = std::max(large->last, small->last);
  parent_[static_cast<std::size_t>(b)] = a;
  const std::uint32_t horizon = std::max(large->horizon, small->horizon);
  large->horizon = horizon;
  for (int reader : large->readers) raise_horizon(reader, horizon);
}

}  // namespace sinter::passes
