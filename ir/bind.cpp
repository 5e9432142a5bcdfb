#include "ir/bind.h"

#include <algorithm>

#include "ir/base/check.h"

namespace sinter::ir {
namespace {

void check_values(const Graph& graph, const Bindings& values) {
  const std::vector<std::string> symbols = graph.symbols();
  for (const auto& [symbol, value] : values) {
    if (std::ranges::find(symbols, symbol) == symbols.end())
      fail<ValueError>("graph {}: has no symbol {} to give the value {}; {}", graph.name(), symbol, value,
                       symbols.empty() ? "its shapes are all numbers"
                                       : fmt::format("there are {}", fmt::join(symbols, ", ")));
    if (value < 0)
      fail<ValueError>("graph {}: the length {} cannot be {}; it must not be negative", graph.name(), symbol,
                       value);
    if (auto fact = graph.facts().divisor.find(symbol);
        fact != graph.facts().divisor.end() && value % fact->second != 0)
      fail<ValueError>("graph {}: {} = {} breaks {} % {} == 0; give a multiple of {}", graph.name(), symbol,
                       value, symbol, fact->second, fact->second);
    if (auto fact = graph.facts().minimum.find(symbol);
        fact != graph.facts().minimum.end() && value < fact->second)
      fail<ValueError>("graph {}: {} = {} breaks {} >= {}", graph.name(), symbol, value, symbol,
                       fact->second);
  }
}

Attrs bound(Attrs attrs, const Bindings& values) {
  attrs.shape = attrs.shape.bind(values);
  for (Dim& d : attrs.starts) d = d.bind(values);
  for (Dim& d : attrs.ends) d = d.bind(values);
  return attrs;
}

}  // namespace

Graph bind(const Graph& graph, const Bindings& values) {
  check_values(graph, values);
  Graph result(graph.name());
  result.facts() = graph.facts();
  for (const auto& [symbol, value] : values) {
    result.facts().divisor.erase(symbol);
    result.facts().minimum.erase(symbol);
  }
  std::vector<Value> made(graph.size());
  std::vector<Value> operands;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Value v{id};
    const Attrs attrs = bound(graph.attrs(v), values);
    if (graph.op(v) == Op::input) {
      made[id] = result.input(attrs.name, attrs.dtype, attrs.shape, graph[v].location);
      continue;
    }
    operands.clear();
    for (Value operand : graph.operands(v)) operands.push_back(made[operand.id]);
    made[id] = result.add(graph.op(v), operands, attrs, graph[v].location);
  }
  for (const Output& output : graph.outputs()) result.output(made[output.value.id], output.name);
  return result;
}

}  // namespace sinter::ir
