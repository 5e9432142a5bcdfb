#include "codegen/cut_groups.h"

#include <algorithm>
#include <map>

#include "codegen/staging.h"
#include "ir/op.h"

namespace sinter::codegen {
namespace {

using ir::Value;

class Cutter {
 public:
  Cutter(const ir::Graph& g, const passes::Group& group, const std::vector<std::optional<ir::View>>& views,
         const std::vector<Joined>& joined)
      : g_(g), group_(group), views_(views) {
    ir::Dim rows(1);
    for (int i = 0; i < group.domain.rank(); ++i)
      if (std::ranges::find(group.reduced, i) == group.reduced.end()) rows = rows * group.domain[i];
    for (Value v : group.nodes) {
      int level = 0;
      for (Value s : sources(v))
        if (member(s)) level = std::max(level, levels_[s] + (ir::is_reduction(g_.op(s)) ? 1 : 0));
      for (const Joined& j : joined)
        if (j.follower == v) level = levels_[j.leader];
      levels_[v] = level;
      in_row_[v] = !ir::is_reduction(g_.op(v)) && !(level > 0 && g_.shape(v).elements() == rows);
    }
  }

  std::vector<passes::Group> run() {
    int last = 0;
    for (Value v : group_.outputs) last = std::max(last, stage_of(v));
    std::vector<std::vector<Value>> roots(static_cast<std::size_t>(last) + 1);
    for (Value v : group_.outputs) roots[static_cast<std::size_t>(stage_of(v))].push_back(v);
    std::vector<passes::Group> groups;
    for (int stage = last; stage >= 0; --stage)
      if (!roots[static_cast<std::size_t>(stage)].empty()) groups.push_back(cut(stage, roots));
    std::ranges::reverse(groups);
    return groups;
  }

 private:
  bool member(Value v) const { return std::ranges::binary_search(group_.nodes, v); }

  /// Members and stored values that a node reads, through index maps.
  std::vector<Value> sources(Value node) const {
    std::vector<Value> found, pending(g_.operands(node).begin(), g_.operands(node).end());
    while (!pending.empty()) {
      const Value v = pending.back();
      pending.pop_back();
      if (member(v))
        found.push_back(v);
      else if (views_[v.id] && !member(views_[v.id]->base))
        found.push_back(views_[v.id]->base);
      else
        pending.insert(pending.end(), g_.operands(v).begin(), g_.operands(v).end());
    }
    return found;
  }

  /// The group that makes a value: what there is one of per row is made where the fold below it ends.
  int stage_of(Value v) const {
    const int level = levels_.at(v);
    return in_row_.at(v) || ir::is_reduction(g_.op(v)) ? level : level - 1;
  }

  /// Whether a group reads the value, and does not compute it anew.
  bool is_read(Value v, int stage) const {
    if (stage_of(v) >= stage) return false;
    return !in_row_.at(v) || std::ranges::find(group_.outputs, v) != group_.outputs.end();
  }

  passes::Group cut(int stage, std::vector<std::vector<Value>>& roots) const {
    passes::Group group;
    group.domain = group_.domain;
    group.outputs = roots[static_cast<std::size_t>(stage)];
    std::vector<Value> pending = group.outputs;
    const auto add = [](std::vector<Value>& to, Value v) {
      if (std::ranges::find(to, v) != to.end()) return false;
      to.push_back(v);
      return true;
    };
    while (!pending.empty()) {
      const Value v = pending.back();
      pending.pop_back();
      if (!add(group.nodes, v)) continue;
      if (ir::is_reduction(g_.op(v))) group.reduced = group_.reduced;
      for (Value s : sources(v)) {
        if (!member(s)) {
          add(group.inputs, s);
        } else if (is_read(s, stage)) {
          add(group.inputs, s);
          add(roots[static_cast<std::size_t>(stage_of(s))], s);
        } else {
          pending.push_back(s);
        }
      }
    }
    for (std::vector<Value>* values : {&group.nodes, &group.inputs, &group.outputs})
      std::ranges::sort(*values);
    return group;
  }

  const ir::Graph& g_;
  const passes::Group& group_;
  const std::vector<std::optional<ir::View>>& views_;
  std::map<Value, int> levels_;   // folds that lie one above the other below a node
  std::map<Value, bool> in_row_;  // whether there is one per element
};

}  // namespace

Cut cut_of(const Kernel& k, const Schedule& s, const DeviceDescription& device) {
  constexpr std::int64_t least_elements = 1 << 18;  // fewer are done before another launch has begun
  constexpr std::int64_t stretch = 32;              // columns that a block should have at least
  const ir::Dim rows = k.rows(), length = k.row_length();
  if (device.target.backend == Backend::cpu || k.fixed_fold_order || !rows.is_constant() ||
      !length.is_constant() || rows.value() * length.value() < least_elements)
    return {};
  // One block a row or tile, which reads it anew for each walk.
  const auto is_looped = [&] {
    for (std::size_t i = k.axes.size(); i-- > 0;)
      if (k.axes[i].reduced) return s.axes[i].front().level == Level::loop && s.axes[i].front().size == 0;
    return false;
  };
  const std::int64_t blocks = s.columns ? rows.value() / stretch : rows.value();
  Cut cut;
  cut.pays = s.chooser.starts_with("team") && is_looped() && blocks < std::int64_t{2} * device.processors &&
             separate_walks(k, s.joined).size() > 1;
  for (int v : s.joined) {
    const KernelValue& follower = k.values[static_cast<std::size_t>(v)];
    cut.joined.push_back({follower.node, k.values[static_cast<std::size_t>(follower.join.leader)].node});
  }
  return cut;
}

std::vector<passes::Group> cut_at_folds(const ir::Graph& graph, const passes::Group& group,
                                        const std::vector<std::optional<ir::View>>& views,
                                        const std::vector<Joined>& joined) {
  return Cutter(graph, group, views, joined).run();
}

passes::Partition cut_groups(const ir::Graph& graph, passes::Partition partition,
                             const std::vector<std::optional<ir::View>>& views,
                             const std::function<Cut(const passes::Group&)>& cut) {
  passes::Partition result;
  std::vector<std::vector<int>> became;  // per group of before
  std::map<Value, int> writer;
  for (passes::Group& group : partition.groups) {
    std::vector<passes::Group> parts;
    if (!group.reduced.empty())
      if (const Cut c = cut(group); c.pays) parts = cut_at_folds(graph, group, views, c.joined);
    if (parts.empty()) parts.push_back(std::move(group));
    became.emplace_back();
    const int first = static_cast<int>(result.groups.size());
    for (passes::Group& part : parts) {
      const int number = static_cast<int>(result.groups.size());
      for (Value v : part.inputs)
        if (const auto at = writer.find(v); at != writer.end() && at->second >= first)
          result.boundaries.push_back(
              {v, at->second, number, "rows or columns are few for all processors, which share each fold"});
      became.back().push_back(number);
      for (Value v : part.outputs) writer[v] = number;
      result.groups.push_back(std::move(part));
    }
  }
  for (const passes::Boundary& b : partition.boundaries)
    for (int to : became[static_cast<std::size_t>(b.to)])
      if (std::ranges::find(result.groups[static_cast<std::size_t>(to)].inputs, b.value) !=
          result.groups[static_cast<std::size_t>(to)].inputs.end())
        result.boundaries.push_back({b.value, writer.at(b.value), to, b.reason});
  return result;
}

}  // namespace sinter::codegen
