// What a program does and why, for people and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "ir/base/check.h"
#include "runtime/kernel_report.h"
#include "runtime/program_impl.h"

namespace sinter::runtime {
namespace {

using ir::Value;
using Json = nlohmann::ordered_json;

/// A number, or the expression where lengths have no values.
Json number(const ir::Dim& d) {
  return d.is_constant() ? Json(d.value()) : Json(d.str());
}

std::string id(std::size_t group) {
  return fmt::format("k{}", group);
}

/// Of the j-th kernel of a group: "k3", and "k3.1" of what folds on where that has left off.
std::string id(std::size_t group, std::size_t j) {
  return j == 0 ? id(group) : fmt::format("k{}.{}", group, j);
}

/// That of the kernel that a launch begins with.
std::string id(const Program::Impl& p, const Launch& launch) {
  const auto group = static_cast<std::size_t>(launch[0].group);
  const std::vector<int>& kernels = p.kernels_of[group];
  return id(group, static_cast<std::size_t>(std::ranges::find(kernels, launch[0].kernel) - kernels.begin()));
}

/// "launched with 43 others, from k0", or nothing for what has launches of its own.
std::string companions(const Program::Impl& p, const Launch& launch) {
  if (launch.size() == 1) return "";
  return fmt::format("launched with {} other{}, from {}", launch.size() - 1, launch.size() > 2 ? "s" : "",
                     id(p, launch));
}

/// `group` is that of a product.
Json gemm_json(const ir::Graph& g, const passes::Group& group) {
  const Value v = group.nodes[0];
  const ir::Shape& c = g.shape(v);
  ir::Dim batch(1);
  for (int i = 0; i < c.rank() - 2; ++i) batch = batch * c[i];
  return {{"m", number(c[c.rank() - 2])},
          {"n", number(c[c.rank() - 1])},
          {"k", number(g.shape(g.operands(v)[0])[c.rank() - 1])},
          {"batch", number(batch)},
          {"dtype", name(g.dtype(v))},
          {"epilogue", group.nodes.size() > 1 ? "bias" : "none"}};
}

ir::Dim bytes_of(const ir::Graph& g, Value v) {
  return g.shape(v).elements() * ir::Dim(size_of(g.dtype(v)));
}

Json accesses_json(const KernelReport& report, bool stores) {
  Json list = Json::array();
  for (const TensorAccesses& a : report.accesses)
    if (a.is_store == stores) list.push_back({{"tensor", a.tensor}, {"bytes", a.bytes}, {"count", a.count}});
  return list;
}

void add_report(Json& kernel, const KernelReport& report) {
  const auto& used = report.resources;
  kernel["registers"] = used ? Json(used->registers) : Json();
  kernel["spill_bytes"] = used ? Json(used->spill_bytes) : Json();
  kernel["stack_bytes"] = used ? Json(used->stack_bytes) : Json();
  kernel["shared_bytes"] = used ? Json(used->shared_bytes) : Json();
  kernel["load_bytes"] = report.load_bytes;
  kernel["store_bytes"] = report.store_bytes;
  kernel["loads"] = accesses_json(report, false);
  kernel["stores"] = accesses_json(report, true);
  kernel["compile_ms"] = report.compile_ms;
  kernel["compilations"] = report.compilations;
}

/// The nodes that the group's first, or its second kernel computes.
std::vector<Value> ops_of_kernel(const passes::Group& group, std::size_t number) {
  const std::vector<Value>& second = group.after_rows;
  if (second.empty()) return group.nodes;
  std::vector<Value> ops;
  std::ranges::copy_if(group.nodes, std::back_inserter(ops),
                       [&](Value v) { return std::ranges::binary_search(second, v) == (number == 1); });
  return ops;
}

}  // namespace

std::vector<GroupSummary> Program::summaries() const {
  const Impl& p = *impl_;
  std::vector<GroupSummary> result;
  for (std::size_t i = 0; i < p.partition.groups.size(); ++i) {
    const passes::Group& group = p.partition.groups[i];
    if (group.kind == passes::GroupKind::kernel) {
      GroupSummary& kernels = result.emplace_back();
      for (int number : p.kernels_of[i]) {
        const codegen::Kernel& k = p.kernels[static_cast<std::size_t>(number)];
        if (kernels.name.empty()) kernels.name = k.name;
        std::string schedule = p.running_sources()[static_cast<std::size_t>(number)].schedule.str();
        if (const std::string others = companions(p, p.launch_of(number)); !others.empty())
          schedule += "; " + others;
        if (!kernels.schedule.ends_with(schedule))
          kernels.schedule += (kernels.schedule.empty() ? "" : "; then ") + schedule;
        kernels.bytes_read = kernels.bytes_read + k.bytes(false);
        kernels.bytes_written = kernels.bytes_written + k.bytes(true);
      }
      continue;
    }
    GroupSummary& product =
        result.emplace_back(GroupSummary{group.nodes.size() > 1 ? "matmul + bias" : "matmul", "", {}, {}});
    for (Value v : group.inputs) product.bytes_read = product.bytes_read + bytes_of(p.optimized, v);
    for (Value v : group.outputs) product.bytes_written = product.bytes_written + bytes_of(p.optimized, v);
  }
  return result;
}

int Program::eager_launches() const {
  const ir::Graph& g = impl_->captured;
  std::vector<bool> live(g.size(), false);
  for (const ir::Output& out : g.outputs()) live[out.value.id] = true;
  int count = 0;
  for (std::uint32_t i = static_cast<std::uint32_t>(g.size()); i-- > 0;) {
    if (!live[i]) continue;
    for (Value operand : g.operands(Value{i})) live[operand.id] = true;
    count += passes::is_computed(g.op(Value{i})) && !g.shape(Value{i}).is_empty();
  }
  return count;
}

std::string Program::explain_json() const {
  return as_json({});
}

std::string Program::as_json(const std::vector<KernelReport>& reports) const {
  const Impl& p = *impl_;
  Json kernels = Json::array(), gemms = Json::array(), boundaries = Json::array();
  for (std::size_t i = 0; i < p.partition.groups.size(); ++i) {
    const passes::Group& group = p.partition.groups[i];
    if (group.kind == passes::GroupKind::gemm) {
      Json gemm = gemm_json(p.optimized, group);
      gemm["id"] = id(i);
      gemms.push_back(std::move(gemm));
      continue;
    }
    for (std::size_t j = 0; j < p.kernels_of[i].size(); ++j) {
      const auto at = static_cast<std::size_t>(p.kernels_of[i][j]);
      const codegen::Kernel& k = p.kernels[at];
      Json ops = Json::array();
      for (Value v : ops_of_kernel(group, j)) ops.push_back(name(p.optimized.op(v)));
      kernels.push_back({{"name", k.name},
                         {"ops", std::move(ops)},
                         {"schedule", p.running_sources()[at].schedule.str()},
                         {"bytes_read", number(k.bytes(false))},
                         {"bytes_written", number(k.bytes(true))},
                         {"id", id(i, j)},
                         {"launch", id(p, p.launch_of(p.kernels_of[i][j]))}});
      if (!k.apart.empty()) kernels.back()["apart"] = k.apart;
      if (const std::optional<Choice> choice = p.choice_of(at))
        kernels.back()["tuned"] = {{"candidate", choice->candidate},
                                   {"candidates", choice->of},
                                   {"ms", choice->ms},
                                   {"untuned_ms", choice->untuned_ms}};
      if (!reports.empty()) add_report(kernels.back(), reports[at]);
    }
  }
  for (const passes::Boundary& b : p.partition.boundaries)
    boundaries.push_back({{"from", id(static_cast<std::size_t>(b.from))},
                          {"to", id(static_cast<std::size_t>(b.to))},
                          {"reason", b.reason}});
  Json result = {{"launches", launches()},
                 {"eager_launches", eager_launches()},
                 {"peak_bytes", p.executable ? Json(p.executable->peak_bytes()) : Json()},
                 {"kernels", std::move(kernels)},
                 {"gemms", std::move(gemms)},
                 {"boundaries", std::move(boundaries)}};
  return result.dump(2);
}

std::string Program::explain() const {
  const Impl& p = *impl_;
  const ir::Graph& g = p.optimized;
  std::string text = fmt::format("{}: {} {} fused, {} eager", g.name(), launches(),
                                 launches() == 1 ? "launch" : "launches", eager_launches());
  if (p.executable) text += fmt::format(", {} bytes at the peak", p.executable->peak_bytes());
  text += "\n";
  for (std::size_t i = 0; i < p.partition.groups.size(); ++i) {
    const passes::Group& group = p.partition.groups[i];
    if (group.kind == passes::GroupKind::gemm) {
      const Json gemm = gemm_json(g, group);
      text +=
          fmt::format("{}  product of {} x {} by {} x {} ({}, batch {}){}\n", id(i), gemm["m"].dump(),
                      gemm["k"].dump(), gemm["k"].dump(), gemm["n"].dump(), name(g.dtype(group.outputs[0])),
                      gemm["batch"].dump(), group.nodes.size() > 1 ? ", bias added" : "");
      continue;
    }
    for (std::size_t j = 0; j < p.kernels_of[i].size(); ++j) {
      const auto at = static_cast<std::size_t>(p.kernels_of[i][j]);
      const codegen::Kernel& k = p.kernels[at];
      std::string ops;
      for (Value v : ops_of_kernel(group, j)) ops += fmt::format(" {}", name(g.op(v)));
      text += fmt::format("{}  {}\n    ops     {}\n    schedule {}\n    reads    {} bytes, writes {} bytes\n",
                          id(i, j), k.name, ops, p.running_sources()[at].schedule.str(), k.bytes(false).str(),
                          k.bytes(true).str());
      if (const std::string others = companions(p, p.launch_of(p.kernels_of[i][j])); !others.empty())
        text += fmt::format("    {}\n", others);
      if (const std::optional<Choice> choice = p.choice_of(at))
        text += fmt::format("    tuned    {}\n", choice->str());
      for (const std::string& reason : k.apart) text += fmt::format("    apart    {}\n", reason);
    }
  }
  for (const passes::Boundary& b : p.partition.boundaries)
    text += fmt::format("{} -> {}: {} {} is stored: {}\n", id(static_cast<std::size_t>(b.from)),
                        id(static_cast<std::size_t>(b.to)), name(g.dtype(b.value)), g.shape(b.value).str(),
                        b.reason);
  return text;
}

}  // namespace sinter::runtime
