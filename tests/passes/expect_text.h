// What a pass makes of a graph, both written as text.
#pragma once

#include <string>
#include <string_view>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/pass.h"

namespace sinter::testing {

/// Copies what `v` needs, operands first, and returns its copy.
inline ir::Value copy_depth_first(const ir::Graph& from, ir::Value v, ir::Graph& to,
                                  std::vector<ir::Value>& map) {
  if (map[v.id].valid()) return map[v.id];
  std::vector<ir::Value> operands;
  for (ir::Value x : from.operands(v)) operands.push_back(copy_depth_first(from, x, to, map));
  return map[v.id] = to.add(from.op(v), operands, from.attrs(v));
}

/// The text of a graph without dead nodes, in an order that depends on its outputs alone.
inline std::string normal_form(const ir::Graph& graph) {
  ir::Graph to(graph.name());
  std::vector<ir::Value> map(graph.size());
  for (ir::Value v : graph.inputs())
    map[v.id] = to.input(graph.attrs(v).name, graph.dtype(v), graph.shape(v));
  for (const ir::Output& o : graph.outputs()) to.output(copy_depth_first(graph, o.value, to, map), o.name);
  return ir::print(to);
}

inline std::string normal_form(std::string_view text) {
  return normal_form(ir::parse(text));
}

/// The result of a pass on a graph's text.
inline std::string after(passes::Pass pass, std::string_view text, Numerics numerics = Numerics::standard) {
  const ir::Graph result = pass(ir::parse(text), {numerics});
  ir::verify(result);
  return normal_form(result);
}

/// A graph with inputs "%x: f32[4], ..." that returns one expression.
inline std::string returning(std::string_view inputs, std::string_view expression) {
  return std::string("graph @g(").append(inputs).append(") {\n  return ").append(expression).append("\n}\n");
}

}  // namespace sinter::testing
