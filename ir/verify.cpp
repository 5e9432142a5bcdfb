#include "ir/verify.h"

#include <algorithm>
#include <unordered_set>

#include "ir/base/check.h"
#include "ir/infer.h"

namespace sinter::ir {
namespace {

std::string describe_node(const Graph& graph, Value v) {
  return fmt::format("graph {}, node {}, {}", graph.name(), v.id,
                     describe(graph, graph.op(v), graph.operands(v)));
}

void verify_node(const Graph& graph, Value v) {
  const Node& node = graph[v];
  for (Value operand : graph.operands(v))
    if (operand.id >= v.id)
      fail<InternalError>("graph {}, node {}, {}: operand {} does not precede it", graph.name(), v.id,
                          name(node.op), operand.id);
  if (!(canonical(node.op, *node.attrs) == *node.attrs))
    fail<InternalError>("{}: has attributes that {} does not use", describe_node(graph, v), name(node.op));
  if (node.op == Op::input) {
    if (node.attrs->dtype != node.dtype || !(node.attrs->shape == *node.shape))
      fail<InternalError>("{}: differs from its attributes", describe_node(graph, v));
    return;
  }
  Inferred expected;
  try {
    expected = infer(graph, node.op, graph.operands(v), *node.attrs);
  } catch (const Error& error) {
    fail<InternalError>("{}: breaks a rule: {}", describe_node(graph, v), error.what());
  }
  const Shape& shape = expected.same ? *expected.same : expected.shape;
  if (expected.dtype != node.dtype || !(shape == *node.shape))
    fail<InternalError>("{}: is {}{}, should be {}{}", describe_node(graph, v), name(node.dtype),
                        node.shape->str(), name(expected.dtype), shape.str());
}

struct NodeIdentity {
  const Graph* graph;
  std::size_t operator()(Value v) const {
    std::size_t h = static_cast<std::size_t>(graph->op(v)) ^ reinterpret_cast<std::size_t>(&graph->attrs(v));
    for (Value operand : graph->operands(v)) h = (h ^ operand.id) * 0x9e3779b97f4a7c15u;
    return h;
  }
  bool operator()(Value a, Value b) const {
    return graph->op(a) == graph->op(b) && &graph->attrs(a) == &graph->attrs(b) &&
           std::ranges::equal(graph->operands(a), graph->operands(b));
  }
};

}  // namespace

Attrs canonical(Op op, const Attrs& attrs) {
  Attrs kept;
  const Family f = family(op);
  const bool is_iota = op == Op::iota, is_slice = op == Op::slice, is_pad = op == Op::pad;
  const bool is_placed = f == Family::scatter && scatter_form(op) == ScatterForm::by_index;
  if (f == Family::reduction || f == Family::gather || f == Family::scatter || is_iota || op == Op::flip ||
      op == Op::permute_dims || op == Op::concat)
    kept.axes = attrs.axes;
  if (is_slice) kept.steps = attrs.steps;
  if (is_slice || is_pad) kept.starts = attrs.starts;
  if (is_pad) kept.ends = attrs.ends;
  if (is_slice || is_placed || is_iota || op == Op::broadcast_to || op == Op::reshape ||
      op == Op::random_bits || op == Op::input)
    kept.shape = attrs.shape;
  if (is_pad || op == Op::constant) kept.value = attrs.value;
  if (is_iota || op == Op::cast || op == Op::constant || op == Op::input) kept.dtype = attrs.dtype;
  if (f == Family::reduction) kept.keepdims = attrs.keepdims;
  if (op == Op::input) kept.name = attrs.name;
  return kept;
}

void verify(const Graph& graph) {
  const NodeIdentity identity{&graph};
  std::unordered_set<Value, NodeIdentity, NodeIdentity> seen(graph.size(), identity, identity);
  std::vector<Value> inputs;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Value v{id};
    verify_node(graph, v);
    if (graph.op(v) == Op::input)
      inputs.push_back(v);
    else if (!seen.insert(v).second)
      fail<InternalError>("{}: an equal node precedes it", describe_node(graph, v));
  }
  if (inputs != graph.inputs())
    fail<InternalError>("graph {}: inputs() does not list its inputs", graph.name());
  for (const Output& output : graph.outputs())
    if (output.value.id >= graph.size())
      fail<InternalError>("graph {}: output {} is not a node", graph.name(), output.name);
}

}  // namespace sinter::ir
