#include "frontend/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "frontend/dot_writer.h"
#include "ir/print.h"
#include "ir/text_form.h"

namespace sinter::frontend {
namespace {

using ir::Family;
using ir::Graph;
using ir::Op;
using ir::Value;

constexpr int outside = -1;  // the group of what is in no cluster

const char* colour_of(Family family) {
  switch (family) {
    case Family::elementwise:
      return "#dbe9f6";
    case Family::reduction:
      return "#fbdfc6";
    case Family::movement:
      return "#efefef";
    case Family::gather:
    case Family::scatter:
    case Family::search:
      return "#e6def3";
    case Family::contraction:
      return "#d8edd4";
    case Family::generator:
      break;
  }
  return "#fdf3cd";
}

ir::Dim bytes_of(const Graph& g, Value v) {
  return g.shape(v).elements() * ir::Dim(size_of(g.dtype(v)));
}

/// 67108864 as "64 MiB"; an expression as it is.
std::string readable(const ir::Dim& bytes) {
  if (!bytes.is_constant()) return bytes.str() + " B";
  auto amount = static_cast<double>(bytes.value());
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (amount < 1024) break;
    amount /= 1024;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", amount, unit);
}

/// The text in lines of about `width` characters, as a label.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string label;
  while (text.size() > width) {
    const std::size_t space = std::min(text.find(' ', width), text.size());
    label += dot_label(text.substr(0, space), space) + "\\n";
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return label + dot_label(text, width);
}

class Drawing {
 public:
  Drawing(const Graph& graph, const passes::Partition* partition,
          std::span<const runtime::GroupSummary> summaries)
      : g_(graph), partition_(partition), summaries_(summaries), home_(graph.size(), outside) {
    writer_.set_all_nodes("label", "");
    for (auto [name, value] : {std::pair{"shape", "box"},
                               {"style", "rounded,filled"},
                               {"fontname", "Helvetica"},
                               {"fontsize", "10"},
                               {"height", "0.25"},
                               {"margin", "0.09,0.04"},
                               {"penwidth", "0.6"},
                               {"color", "#707070"}})
      writer_.set_all_nodes(name, value);
    for (auto [name, value] : {std::pair{"fontname", "Helvetica"},
                               {"fontsize", "8"},
                               {"fontcolor", "#505050"},
                               {"color", "#707070"},
                               {"arrowsize", "0.6"},
                               {"penwidth", "0.8"},
                               {"label", ""}})
      writer_.set_all_edges(name, value);
    for (auto [name, value] : {std::pair{"fontname", "Helvetica"},
                               {"fontsize", "11"},
                               {"labelloc", "t"},
                               {"nodesep", "0.2"},
                               {"ranksep", "0.3"},
                               {"linelength", "0"}})
      writer_.set(writer_.root(), name, value);
  }

  std::string run(const std::string& title) {
    writer_.set(writer_.root(), "label", title);
    if (partition_) clusters();
    for (Value v : g_.inputs()) draw(outside, v);
    if (partition_)
      groups();
    else
      for (std::uint32_t id = 0; id < g_.size(); ++id)
        if (g_.op(Value{id}) != Op::constant) draw_upward(outside, Value{id});
    outputs();
    return writer_.text();
  }

 private:
  void clusters() {
    for (std::size_t k = 0; k < partition_->groups.size(); ++k) {
      const passes::Group& group = partition_->groups[k];
      const DotWriter::Graph cluster = writer_.cluster(fmt::format("cluster_k{}", k));
      clusters_.push_back(cluster);
      ir::Dim bytes(0);
      std::string schedule, name = group.kind == passes::GroupKind::gemm ? "matrix product" : "kernel";
      if (k < summaries_.size()) {
        name = summaries_[k].name;
        schedule = summaries_[k].schedule;
        bytes = summaries_[k].bytes_read + summaries_[k].bytes_written;
      } else {
        for (Value v : group.inputs) bytes = bytes + bytes_of(g_, v);
        for (Value v : group.outputs) bytes = bytes + bytes_of(g_, v);
      }
      writer_.set(cluster, "schedule", schedule);
      writer_.set(cluster, "bytes", bytes.str());
      writer_.set(cluster, "label",
                  fmt::format("k{}  {}\\l{}{}moves {}\\l", k, dot_label(name), dot_label(schedule, 200),
                              schedule.empty() ? "" : "\\l", readable(bytes)));
      for (auto [attribute, value] : {std::pair{"labeljust", "l"},
                                      {"style", "rounded,filled"},
                                      {"color", "#a0b4c8"},
                                      {"fillcolor", "#fafcff"},
                                      {"fontsize", "9"},
                                      {"margin", "10"}})
        writer_.set(cluster, attribute, value);
      for (Value v : group.outputs) home_[v.id] = static_cast<int>(k);
    }
    for (const passes::Boundary& b : partition_->boundaries) reasons_[{b.value.id, b.to}] = b.reason;
  }

  void groups() {
    for (std::size_t k = 0; k < partition_->groups.size(); ++k)
      for (Value v : partition_->groups[k].nodes) members_.emplace(static_cast<int>(k), v.id);
    for (std::size_t k = 0; k < partition_->groups.size(); ++k)
      for (Value v : partition_->groups[k].nodes) draw_upward(static_cast<int>(k), v);
  }

  void outputs() {
    for (std::size_t i = 0; i < g_.outputs().size(); ++i) {
      const ir::Output& output = g_.outputs()[i];
      const DotWriter::Node node = writer_.node(writer_.root(), fmt::format("out{}", i));
      writer_.set(node, "label",
                  output.name.empty() ? fmt::format("out{}", i) : dot_label(ir::spell_name(output.name)));
      writer_.set(node, "fillcolor", "#4a5a6a");
      writer_.set(node, "fontcolor", "white");
      const int group = home_[output.value.id];
      if (group == outside) draw_upward(outside, output.value);
      connect(draw(group, output.value), node, output.value, group, outside);
    }
  }

  bool is_member(int group, Value v) const { return members_.contains({group, v.id}); }

  /// The group whose copy of `v` a reader in `reader` takes: its own, the one that stores it, or none.
  int source_of(int reader, Value v) const {
    if (is_member(reader, v)) return reader;
    if (g_.op(v) == Op::input) return outside;
    return home_[v.id] != outside ? home_[v.id] : reader;
  }

  /// The node with all it needs from the same group, each drawn once, by a list instead of recursion.
  void draw_upward(int group, Value v) {
    std::vector<Value> waiting{v};
    while (!waiting.empty()) {
      const Value node = waiting.back();
      waiting.pop_back();
      if (!connected_.emplace(group, node.id).second) continue;
      const DotWriter::Node to = draw(group, node);
      for (Value operand : g_.operands(node)) {
        if (g_.op(operand) == Op::constant) continue;
        const int from = source_of(group, operand);
        connect(draw(from, operand), to, operand, from, group);
        if (from == group) waiting.push_back(operand);
      }
    }
  }

  void connect(DotWriter::Node from, DotWriter::Node to, Value v, int source, int reader) {
    const DotWriter::Edge edge = writer_.edge(from, to);
    const std::string shape = g_.shape(v).str(), dtype(name(g_.dtype(v)));
    std::string label = fmt::format("{}{}", dtype, shape);
    writer_.set(edge, "shape", shape);
    writer_.set(edge, "dtype", dtype);
    writer_.set(edge, "bytes", bytes_of(g_, v).str());
    if (partition_ && source != reader) {
      writer_.set(edge, "penwidth", "1.6");
      label += fmt::format("\\n{}", readable(bytes_of(g_, v)));
      if (const auto found = reasons_.find({v.id, reader}); found != reasons_.end()) {
        writer_.set(edge, "reason", found->second);
        writer_.set(edge, "color", "#c0392b");
        writer_.set(edge, "fontcolor", "#c0392b");
        label += fmt::format("\\n{}", wrapped(found->second, 30));
      }
    }
    writer_.set(edge, "label", label);
  }

  /// The drawn copy of a node in a group, made when it is first asked for.
  DotWriter::Node draw(int group, Value v) {
    DotWriter::Node& node = drawn_[{group, v.id}];
    if (node) return node;
    const bool in_cluster = group != outside;
    node = writer_.node(in_cluster ? clusters_[static_cast<std::size_t>(group)] : writer_.root(),
                        in_cluster ? fmt::format("k{}_n{}", group, v.id) : fmt::format("n{}", v.id));
    writer_.set(node, "label", label_of(v));
    writer_.set(node, "fillcolor", g_.op(v) == Op::input ? "white" : colour_of(ir::family(g_.op(v))));
    if (g_.op(v) == Op::input) writer_.set(node, "penwidth", "1.4");
    if (ir::is_movement(g_.op(v))) writer_.set(node, "fontsize", "9");
    return node;
  }

  std::string label_of(Value v) const {
    const Op op = g_.op(v);
    if (op == Op::input)
      return fmt::format("{}\\n{}{}", dot_label(ir::spell_name(g_.attrs(v).name)), name(g_.dtype(v)),
                         g_.shape(v).str());
    if (op == Op::constant) return dot_label(ir::spell_scalar(g_.attrs(v).value));
    std::string arguments;
    bool has_constant = false;
    for (Value operand : g_.operands(v)) {
      const bool constant = g_.op(operand) == Op::constant;
      has_constant = has_constant || constant;
      arguments += arguments.empty() ? "" : ", ";
      arguments += constant ? ir::spell_number(g_.attrs(operand).value) : "\u00b7";
    }
    std::string label(name(op));
    if (has_constant) label += fmt::format("({})", arguments);
    // The result's shape stands on its edges.
    const std::string attributes = ir::print_attributes(g_, v);
    if (!attributes.empty() && !attributes.starts_with("shape=")) label += "\\n" + dot_label(attributes, 80);
    return label;
  }

  const Graph& g_;
  const passes::Partition* partition_;
  std::span<const runtime::GroupSummary> summaries_;
  DotWriter writer_;
  std::vector<DotWriter::Graph> clusters_;
  std::vector<int> home_;                                         // group that stores each value
  std::map<std::pair<std::uint32_t, int>, std::string> reasons_;  // by value and reader
  std::set<std::pair<int, std::uint32_t>> members_, connected_;
  std::map<std::pair<int, std::uint32_t>, DotWriter::Node> drawn_;
};

}  // namespace

std::string dot(const Graph& graph, std::string_view stage) {
  return Drawing(graph, nullptr, {})
      .run(fmt::format("{}: {}, {} nodes", dot_label(ir::spell_name(graph.name())), stage, graph.size()));
}

std::string dot(const Graph& graph, const passes::Partition& partition,
                std::span<const runtime::GroupSummary> summaries) {
  const std::size_t launches = partition.groups.size();
  return Drawing(graph, &partition, summaries)
      .run(fmt::format("{}: fused, {} {}", dot_label(ir::spell_name(graph.name())), launches,
                       launches == 1 ? "launch" : "launches"));
}

}  // namespace sinter::frontend
