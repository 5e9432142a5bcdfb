#include <algorithm>

#include "frontend/bind_inputs.h"
#include "frontend/device_of.h"
#include "frontend/eager.h"
#include "frontend/errors.h"
#include "ir/base/check.h"
#include "ir/liveness.h"

namespace sinter::frontend {
namespace {

ir::Attrs bind(const ir::Attrs& attrs, const ir::Bindings& bindings) {
  ir::Attrs bound = attrs;
  bound.shape = attrs.shape.bind(bindings);
  for (ir::Dim& d : bound.starts) d = d.bind(bindings);
  for (ir::Dim& d : bound.ends) d = d.bind(bindings);
  return bound;
}

Tensor run_node(const ir::Graph& graph, ir::Value v, const std::vector<Tensor>& values,
                const ir::Bindings& bindings, runtime::Device& device) {
  ir::Graph small("eager");
  if (graph.op(v) == ir::Op::constant) {
    const ir::Value constant = small.constant(graph.attrs(v).value);
    return run_one(std::move(small), constant, {}, device);
  }
  std::vector<Tensor> inputs;
  std::vector<ir::Value> sources, operands;  // sources: the nodes whose values are inputs
  for (const ir::Value x : graph.operands(v)) {
    const auto known = std::ranges::find(sources, x);
    if (graph.op(x) == ir::Op::constant) {
      operands.push_back(small.constant(graph.attrs(x).value));
    } else if (known != sources.end()) {
      operands.push_back(small.inputs()[static_cast<std::size_t>(known - sources.begin())]);
    } else {
      sources.push_back(x);
      inputs.push_back(values[x.id]);
      operands.push_back(small.input("x", graph.dtype(x), impl_of(values[x.id]).shape()));
    }
  }
  return with_location(graph[v].location, [&] {
    const ir::Value result =
        small.add(graph.op(v), operands, bind(graph.attrs(v), bindings), std::source_location{});
    return run_one(std::move(small), result, inputs, device);
  });
}

}  // namespace

std::vector<Tensor> run_eagerly(const ir::Graph& graph, std::span<const Tensor> inputs) {
  const ir::Bindings bindings = bind_inputs(graph, inputs);
  CommonDevice device;
  for (const Tensor& x : inputs) device.add(x, graph.name());
  const std::vector<std::uint32_t> last = ir::last_readers(graph);
  std::vector<Tensor> values(graph.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].id] = inputs[i];
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const ir::Op op = graph.op({id});
    // A constant is a literal in the programs that use it; only one that is itself a result needs memory.
    const bool is_literal = op == ir::Op::constant && last[id] != graph.size();
    if (last[id] == ir::never_read || op == ir::Op::input || is_literal) continue;
    values[id] = run_node(graph, {id}, values, bindings, device.get());
    for (const ir::Value x : graph.operands({id}))
      if (last[x.id] == id) values[x.id] = Tensor();
  }
  std::vector<Tensor> outputs;
  for (const ir::Output& output : graph.outputs()) outputs.push_back(values[output.value.id]);
  return outputs;
}

}  // namespace sinter::frontend
