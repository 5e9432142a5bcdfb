#include "tests/onnx/importer.h"

#include "ir/base/check.h"
#include "ir/evaluate_typed.h"
#include "tests/onnx/call.h"

namespace sinter::testing::onnx {
namespace {

const Handlers& handlers() {
  static const Handlers all = [] {
    Handlers result;
    for (Handlers part : {elementwise_handlers(), reduction_handlers(), shape_handlers(), index_handlers(),
                          product_handlers()})
      result.merge(part);
    return result;
  }();
  return all;
}

/// The nodes that `value` is made of, as a graph of their own, with the inputs it reads.
Imported graph_of(const Imported& whole, ir::Value value) {
  const ir::Graph& graph = whole.graph;
  std::vector<bool> needed(graph.size(), false);
  needed[value.id] = true;
  for (std::uint32_t id = value.id + 1; id-- > 0;)
    if (needed[id])
      for (ir::Value operand : graph.operands({id})) needed[operand.id] = true;

  Imported part{ir::Graph("part"), {}};
  std::vector<ir::Value> copies(graph.size());
  std::size_t input = 0;
  for (std::uint32_t id = 0; id <= value.id; ++id) {
    const ir::Value original{id};
    const bool is_input = graph.op(original) == ir::Op::input;
    if (needed[id] && is_input) {
      part.inputs.push_back(whole.inputs.at(input));
      copies[id] = part.graph.input(graph.attrs(original).name, graph.dtype(original), graph.shape(original));
    } else if (needed[id]) {
      std::vector<ir::Value> operands;
      for (ir::Value operand : graph.operands(original)) operands.push_back(copies[operand.id]);
      copies[id] = part.graph.add(graph.op(original), operands, graph.attrs(original));
    }
    input += is_input;
  }
  part.graph.output(copies[value.id]);
  return part;
}

ir::Value add_input(State& state, std::string name, ir::Array array) {
  const ir::Shape shape(std::vector<ir::Dim>(array.shape.begin(), array.shape.end()));
  state.result.inputs.push_back(std::move(array));
  return state.result.graph.input(std::move(name), state.result.inputs.back().dtype, shape);
}

void import_node(const Node& node, State& state) {
  Call call(node, state);
  const auto handler = handlers().find(node.op);
  if (handler == handlers().end()) fail<UnsupportedError>("operator {}", node.op);
  const std::vector<Expr> results = handler->second(call);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i >= results.size()) unsupported(call, fmt::format("output {}", i));
    state.values[node.outputs[i]] = results[i].value;
  }
}

}  // namespace

Imported import_model(const Model& model, std::span<const ir::Array> inputs) {
  State state{.result = {ir::Graph("onnx"), {}}, .values = {}, .opset = model.opset};
  if (inputs.size() != model.inputs.size())
    fail<UnsupportedError>("{} inputs for a model of {}", inputs.size(), model.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    state.values[model.inputs[i]] = add_input(state, model.inputs[i], inputs[i]);
  for (const auto& [name, array] : model.initializers) state.values[name] = add_input(state, name, array);
  for (const Node& node : model.nodes) import_node(node, state);
  for (const std::string& name : model.outputs) state.result.graph.output(state.values.at(name), name);
  return std::move(state.result);
}

Expr Call::in(std::size_t i) {
  if (!has(i)) unsupported(*this, fmt::format("operand {} left out", i));
  return {&graph(), state_.values.at(node_.inputs[i])};
}

std::vector<Expr> Call::all() {
  std::vector<Expr> result;
  for (std::size_t i = 0; i < arity(); ++i) result.push_back(in(i));
  return result;
}

ir::Array Call::contents(std::size_t i) {
  const Imported part = graph_of(state_.result, in(i).value);
  return ir::evaluate_typed(part.graph, part.inputs).at(0);
}

std::vector<std::int64_t> Call::integers(std::size_t i) {
  const ir::Array array = contents(i);
  std::vector<std::int64_t> result;
  for (std::int64_t at = 0; at < array.elements(); ++at) result.push_back(array.at(at).whole());
  return result;
}

double Call::number(std::size_t i) {
  return static_cast<double>(contents(i).at(0).real());
}

std::int64_t Call::integer(std::string_view name, std::int64_t otherwise) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? otherwise : found->second.integer;
}

double Call::real(std::string_view name, double otherwise) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? otherwise : static_cast<double>(found->second.real);
}

std::string Call::text(std::string_view name, std::string otherwise) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? otherwise : found->second.text;
}

std::vector<std::int64_t> Call::list(std::string_view name, std::vector<std::int64_t> otherwise) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? otherwise : found->second.integers;
}

Axes Call::axes(std::size_t i, std::string_view name) {
  if (has(i)) return integers(i);
  if (has_attribute(name)) return list(name);
  return std::nullopt;
}

Expr Call::literal(ir::Array array) {
  return {&graph(), add_input(state_, node_.outputs.at(0), std::move(array))};
}

void unsupported(const Call& call, std::string_view what) {
  fail<UnsupportedError>("operator {}: {}", call.node().op, what);
}

}  // namespace sinter::testing::onnx
