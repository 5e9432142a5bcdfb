// The minimiser of tests/support/random_graph.h: rebuilds a graph with one thing taken away at a time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ir/liveness.h"
#include "sinter/error.h"
#include "tests/support/random_graph.h"

namespace sinter::testing {
namespace {

using ir::Attrs;
using ir::Dim;
using ir::Graph;
using ir::Op;
using ir::Value;

/// What differs in the rebuilt graph.
struct Edit {
  std::optional<std::size_t> output = {};  // this output is dropped, ...
  std::optional<Value> moved = {};         // ...or is this node instead
  std::optional<Value> replaced = {};      // node that gives way...
  std::optional<Value> replacement = {};   // ...to this one, or else to a new input
  std::int64_t length = -1;                // this length of an axis, wherever it stands, ...
  std::int64_t shorter = -1;               // ...becomes this one
};

Dim shortened(const Dim& d, const Edit& edit) {
  return edit.length >= 0 && d.is(edit.length) ? Dim(edit.shorter) : d;
}

ir::Shape shortened(const ir::Shape& shape, const Edit& edit) {
  ir::Shape result;
  for (const Dim& d : shape) result.push_back(shortened(d, edit));
  return result;
}

std::vector<ir::Output> outputs_of(const Graph& graph, const Edit& edit) {
  std::vector<ir::Output> outputs = graph.outputs();
  if (edit.moved)
    outputs[*edit.output].value = *edit.moved;
  else if (edit.output)
    outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(*edit.output));
  return outputs;
}

/// The live part of the graph after the edit. Throws where a node no longer fits.
Graph rebuild(const Graph& graph, const Edit& edit) {
  Graph kept(graph.name());
  kept.facts() = graph.facts();
  const std::vector<ir::Output> outputs = outputs_of(graph, edit);
  std::vector<bool> live(graph.size(), false);
  for (const ir::Output& output : outputs) live[output.value.id] = true;
  for (auto id = static_cast<std::uint32_t>(graph.size()); id-- > 0;) {
    if (!live[id]) continue;
    if (edit.replaced == Value{id}) {
      if (edit.replacement) live[edit.replacement->id] = true;
      continue;
    }
    for (Value operand : graph.operands(Value{id})) live[operand.id] = true;
  }
  std::vector<Value> made(graph.size());
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Value v{id};
    if (!live[id]) continue;
    Attrs attrs = graph.attrs(v);
    attrs.shape = shortened(attrs.shape, edit);
    if (edit.replaced == v && edit.replacement) {
      made[id] = made[edit.replacement->id];
    } else if (graph.op(v) == Op::input) {
      made[id] = kept.input(attrs.name, attrs.dtype, attrs.shape);
    } else if (edit.replaced == v) {
      made[id] = kept.input(fmt::format("n{}", id), graph.dtype(v), shortened(graph.shape(v), edit));
    } else {
      std::vector<Value> operands;
      for (Value operand : graph.operands(v)) operands.push_back(made[operand.id]);
      made[id] = kept.add(graph.op(v), operands, attrs);
    }
  }
  for (const ir::Output& output : outputs) kept.output(made[output.value.id], output.name);
  return kept;
}

/// Everything to try on a graph, the biggest steps first.
std::vector<Edit> edits_of(const Graph& graph) {
  std::vector<Edit> edits;
  if (graph.outputs().size() > 1)
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) edits.push_back({.output = i});
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    for (Value operand : graph.operands(graph.outputs()[i].value))
      edits.push_back({.output = i, .moved = operand});
  const std::vector<std::uint32_t> last = ir::last_readers(graph);
  std::map<std::int64_t, bool> lengths;
  for (auto id = static_cast<std::uint32_t>(graph.size()); id-- > 0;) {
    const Value v{id};
    if (last[id] == ir::never_read) continue;
    for (const Dim& d : graph.shape(v))
      if (d.is_constant()) lengths[d.value()] = true;
    if (graph.op(v) == Op::input) continue;
    for (Value operand : graph.operands(v))
      if (graph.dtype(operand) == graph.dtype(v) && graph.shape(operand) == graph.shape(v))
        edits.push_back({.replaced = v, .replacement = operand});
    if (graph.op(v) != Op::constant) edits.push_back({.replaced = v});
  }
  for (const auto& [length, seen] : lengths)
    for (std::int64_t shorter : {std::int64_t{1}, length / 2, length - 1})
      if (shorter >= 1 && shorter < length) edits.push_back({.length = length, .shorter = shorter});
  return edits;
}

/// How much there is to read: live nodes first, then elements.
std::pair<std::size_t, std::int64_t> size_of_graph(const Graph& graph) {
  std::size_t nodes = 0;
  std::int64_t elements = 0;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    nodes += graph.op(Value{id}) == Op::input ? 1 : 2;  // an input is simpler than what computed it
    if (graph.shape(Value{id}).is_constant()) elements += graph.shape(Value{id}).elements().value();
  }
  return {nodes + graph.outputs().size(), elements};
}

}  // namespace

Graph minimize(const Graph& graph, const std::function<bool(const Graph&)>& fails) {
  Graph smallest = rebuild(graph, {});
  if (!fails(smallest))
    return rebuild(graph, {});  // a failure that comes from dead nodes or the order of inputs
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (const Edit& edit : edits_of(smallest)) {
      try {
        Graph candidate = rebuild(smallest, edit);
        if (size_of_graph(candidate) >= size_of_graph(smallest) || !fails(candidate)) continue;
        smallest = std::move(candidate);
        smaller = true;
        break;
      } catch (const Error&) {
        // A node that does not fit any more.
      }
    }
  }
  return smallest;
}

}  // namespace sinter::testing
