// From the fuser's state to a Partition: dead groups dropped, outputs found, groups put in an order in which
// they run.
#include <algorithm>
#include <queue>

#include "ir/base/check.h"
#include "passes/fuser.h"

namespace sinter::passes {

using ir::Value;

/// Values that must be in memory: the graph's outputs, and what live groups read from others.
std::vector<bool> Fuser::values_read_elsewhere() {
  std::vector<bool> stored(g_.size(), false);
  for (const ir::Output& out : g_.outputs())
    if (Value s = traces_[out.value.id].source; s.valid()) stored[s.id] = true;
  // A value is stored before anything that reads it, so going down over its readers' last nodes is enough.
  std::vector<std::vector<int>> by_last(g_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (find(static_cast<int>(i)) == static_cast<int>(i))
      by_last[groups_[i].last].push_back(static_cast<int>(i));
  bool changed = true;
  std::vector<bool> live(groups_.size(), false);
  while (changed) {  // once, but for groups whose nodes interleave
    changed = false;
    for (std::uint32_t id = static_cast<std::uint32_t>(g_.size()); id-- > 0;)
      for (int group : by_last[id]) {
        const Building& b = groups_[static_cast<std::size_t>(group)];
        if (live[static_cast<std::size_t>(group)] ||
            std::ranges::none_of(b.nodes, [&](Value v) { return stored[v.id]; }))
          continue;
        live[static_cast<std::size_t>(group)] = changed = true;
        for (Value s : b.sources) stored[s.id] = true;
      }
  }
  return stored;
}

Group Fuser::finish(const Building& b, const std::vector<bool>& stored) const {
  Group group;
  group.kind = b.kind;
  group.domain = b.written;
  for (int i = 0, axis = 0; i < b.written.rank(); ++i)
    if (!b.written[i].is(1) && b.reduced[static_cast<std::size_t>(axis++)]) group.reduced.push_back(i);
  std::vector<Value> members = b.nodes;
  members.insert(members.end(), b.copies.begin(), b.copies.end());
  std::ranges::sort(members);
  members.erase(std::ranges::unique(members).begin(), members.end());
  // Backwards from what is stored: nodes that only copies elsewhere needed drop out.
  auto index_of = [&](Value v) -> std::ptrdiff_t {
    const auto it = std::ranges::lower_bound(members, v);
    return it != members.end() && *it == v ? it - members.begin() : -1;
  };
  std::vector<bool> needed(members.size(), false);
  for (Value v : b.nodes)
    if (stored[v.id]) {
      group.outputs.push_back(v);
      needed[static_cast<std::size_t>(index_of(v))] = true;
    }
  for (std::size_t i = members.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const std::span<const Value> operands = g_.operands(members[i]);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Value s = traces_[operands[k].id].source;
      if (!s.valid()) continue;
      const bool from_memory = ir::reads_memory(g_.op(members[i]), k);
      if (const std::ptrdiff_t at = from_memory ? -1 : index_of(s); at >= 0)
        needed[static_cast<std::size_t>(at)] = true;
      else
        group.inputs.push_back(s);
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i)
    if (needed[i]) group.nodes.push_back(members[i]);
  std::ranges::copy_if(group.nodes, std::back_inserter(group.after_rows),
                       [&](Value v) { return !b.across.empty() && after_[v.id]; });
  std::ranges::sort(group.outputs);
  std::ranges::sort(group.inputs);
  group.inputs.erase(std::ranges::unique(group.inputs).begin(), group.inputs.end());
  return group;
}

std::string Fuser::reason_for(Value producer, const Group& reader) const {
  if (groups_[static_cast<std::size_t>(group_of_[producer.id])].kind == GroupKind::gemm)
    return "matrix products run in the library";
  auto same = [&](const Refusal& r) { return r.producer == producer; };
  for (auto it = std::ranges::lower_bound(refusals_, producer, {}, &Refusal::producer);
       it != refusals_.end() && same(*it); ++it)
    if (std::ranges::binary_search(reader.nodes, it->consumer)) return it->reason;
  return "it is stored for others, and reading it costs no more than computing it again";
}

Partition Fuser::assemble() {
  const std::vector<bool> stored = values_read_elsewhere();
  std::vector<Group> groups;
  std::vector<int> writer(g_.size(), -1);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (find(static_cast<int>(i)) != static_cast<int>(i)) continue;
    Group group = finish(groups_[i], stored);
    if (group.outputs.empty()) continue;
    for (Value v : group.outputs) writer[v.id] = static_cast<int>(groups.size());
    groups.push_back(std::move(group));
  }
  // Topological order; among the ready ones, that of their first output.
  std::vector<std::vector<int>> readers(groups.size());
  std::vector<int> waiting(groups.size(), 0);
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (Value v : groups[i].inputs)
      if (writer[v.id] >= 0) {
        readers[static_cast<std::size_t>(writer[v.id])].push_back(static_cast<int>(i));
        ++waiting[i];
      }
  auto later = [&](int a, int b) {
    return groups[static_cast<std::size_t>(a)].outputs[0] > groups[static_cast<std::size_t>(b)].outputs[0];
  };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  Partition result;
  std::vector<int> position(groups.size(), -1);
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    position[static_cast<std::size_t>(i)] = static_cast<int>(result.groups.size());
    result.groups.push_back(std::move(groups[static_cast<std::size_t>(i)]));
    for (int r : readers[static_cast<std::size_t>(i)])
      if (--waiting[static_cast<std::size_t>(r)] == 0) ready.push(r);
  }
  SINTER_ASSERT(result.groups.size() == groups.size(), "the groups form a cycle");
  std::ranges::stable_sort(refusals_, {}, &Refusal::producer);
  for (std::size_t i = 0; i < result.groups.size(); ++i)
    for (Value v : result.groups[i].inputs)
      if (writer[v.id] >= 0)
        result.boundaries.push_back({v, position[static_cast<std::size_t>(writer[v.id])], static_cast<int>(i),
                                     reason_for(v, result.groups[i])});
  return result;
}

}  // namespace sinter::passes
