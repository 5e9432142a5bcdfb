#include "sinter/graph_function.h"

#include <algorithm>

#include "frontend/bind_inputs.h"
#include "frontend/build.h"
#include "frontend/capture.h"
#include "frontend/device_of.h"
#include "frontend/eager.h"
#include "frontend/target.h"
#include "frontend/tensor_impl.h"
#include "frontend/tensor_spec.h"
#include "ir/base/check.h"
#include "ir/base/settings.h"
#include "ir/bind.h"
#include "ir/evaluate_reference.h"
#include "ir/evaluate_typed.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "passes/check_indices.h"
#include "runtime/program.h"

namespace sinter {

namespace frontend {

struct GraphFunctionImpl {
  ir::Graph graph;
};

namespace {

/// The input that an index comes from, through whatever moves or converts it; an invalid value for another.
ir::Value index_source(const ir::Graph& g, ir::Value v) {
  while ((ir::is_movement(g.op(v)) || g.op(v) == ir::Op::cast) && g.operands(v).size() == 1)
    v = g.operands(v)[0];
  return g.op(v) == ir::Op::input ? v : ir::Value{};
}

/// Whether `a` is provably no longer than `b`, where both are known.
bool is_shorter(const ir::Dim& a, const ir::Dim& b) {
  return a.is_constant() && (!b.is_constant() || a.value() < b.value());
}

/// Per node: the length of the axis that an input indexes.
std::vector<std::optional<ir::Dim>> index_ranges(const ir::Graph& g) {
  std::vector<std::optional<ir::Dim>> ranges(g.size());
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const ir::Value v{id};
    const bool scatters = ir::is_scatter(g.op(v)) && ir::scatter_form(g.op(v)) == ir::ScatterForm::by_index;
    if (!ir::is_gather(g.op(v)) && !scatters) continue;
    const ir::Value source = index_source(g, g.operands(v)[1]);
    if (!source.valid()) continue;
    const ir::Shape& indexed = g.shape(scatters ? v : g.operands(v)[0]);
    const ir::Dim& length = indexed[static_cast<int>(g.attrs(v).axes[0])];
    std::optional<ir::Dim>& known = ranges[source.id];
    if (!known || is_shorter(length, *known)) known = length;
  }
  return ranges;
}

/// Adds the graph's operations to a capture.
std::vector<Tensor> record_in(Capture& capture, const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  const ir::Graph bound = ir::bind(graph, bind_inputs(graph, inputs));
  std::vector<ir::Value> made(bound.size()), operands;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    made[bound.inputs()[i].id] = capture.value(inputs[i], bound[bound.inputs()[i]].location);
  for (std::uint32_t id = 0; id < bound.size(); ++id) {
    const ir::Value v{id};
    if (bound.op(v) == ir::Op::input) continue;
    operands.clear();
    for (const ir::Value operand : bound.operands(v)) operands.push_back(made[operand.id]);
    made[id] = capture.graph().add(bound.op(v), operands, bound.attrs(v), bound[v].location);
  }
  std::vector<Tensor> outputs;
  for (const ir::Output& output : bound.outputs()) outputs.push_back(capture.tensor(made[output.value.id]));
  return outputs;
}

ir::Array to_array(const Tensor& x) {
  ir::Array array(x.dtype(), x.shape());
  x.copy_to(array.data.data());
  return array;
}

Tensor to_tensor(const ir::Array& array, runtime::Device& device) {
  return from_host(array.dtype, array.shape, array.data.data(), device);
}

void check_recorded(Capture& capture) {
  for (const Slot& slot : capture.slots()) {
    if (slot.kind == SlotKind::argument) continue;
    const bool is_random = slot.kind == SlotKind::random_key || slot.kind == SlotKind::random_counter;
    fail<UnsupportedError>("{}: {} in a GraphFunction; hand it in as an input", capture.graph().name(),
                           is_random ? "a random number is drawn" : "the formula closes over a tensor");
  }
}

std::shared_ptr<const GraphFunctionImpl> impl_for(ir::Graph graph) {
  return std::make_shared<const GraphFunctionImpl>(GraphFunctionImpl{std::move(graph)});
}

}  // namespace

}  // namespace frontend

std::map<std::string, std::int64_t> solve_lengths(const std::vector<GraphInput>& inputs,
                                                  const std::map<std::string, Shape>& shapes) {
  std::vector<ir::Shape> wanted;
  std::vector<std::vector<std::int64_t>> given;
  for (const GraphInput& input : inputs)
    if (const auto shape = shapes.find(input.name); shape != shapes.end()) {
      wanted.push_back(frontend::shape_of(input.spec));
      given.push_back(shape->second);
    }
  const ir::Bindings bindings = frontend::solve_lengths(wanted, given);
  return {bindings.begin(), bindings.end()};
}

GraphFunction GraphFunction::parse(std::string_view text, std::string_view file) {
  return GraphFunction(frontend::impl_for(ir::parse(text, file)));
}

GraphFunction GraphFunction::record(std::string name, const std::vector<GraphInput>& inputs,
                                    const Formula& formula) {
  if (!formula) fail<ValueError>("record: there is no formula for {}", name);
  frontend::Capture capture(std::move(name));
  std::vector<Tensor> stand_ins;
  for (const GraphInput& input : inputs)
    stand_ins.push_back(capture.argument(input.name, input.spec.dtype, frontend::shape_of(input.spec)));
  const frontend::CaptureScope scope(capture);
  for (const Tensor& output : formula(stand_ins)) capture.graph().output(capture.value(output, {}));
  frontend::check_recorded(capture);
  return GraphFunction(frontend::impl_for(std::move(capture.graph())));
}

const std::string& GraphFunction::name() const {
  return impl_->graph.name();
}

std::vector<GraphInput> GraphFunction::inputs() const {
  const ir::Graph& g = impl_->graph;
  const auto ranges = frontend::index_ranges(g);
  std::vector<GraphInput> inputs;
  for (const ir::Value v : g.inputs()) {
    inputs.push_back({g.attrs(v).name, frontend::spec_of(g.dtype(v), g.shape(v))});
    if (is_whole(g.dtype(v)) && ranges[v.id]) inputs.back().index_range = frontend::length_of(*ranges[v.id]);
  }
  return inputs;
}

std::vector<std::string> GraphFunction::outputs() const {
  std::vector<std::string> names;
  for (const ir::Output& output : impl_->graph.outputs())
    names.push_back(output.name.empty() ? fmt::format("out{}", names.size()) : output.name);
  return names;
}

std::vector<std::string> GraphFunction::symbols() const {
  return impl_->graph.symbols();
}

std::string GraphFunction::text() const {
  return ir::print(impl_->graph);
}

GraphFunction GraphFunction::bind(const std::map<std::string, std::int64_t>& lengths) const {
  return GraphFunction(
      frontend::impl_for(ir::bind(impl_->graph, ir::Bindings(lengths.begin(), lengths.end()))));
}

std::vector<Tensor> GraphFunction::operator()(const std::vector<Tensor>& inputs) const {
  if (frontend::Capture* capture = frontend::current_capture())
    return frontend::record_in(*capture, impl_->graph, inputs);
  return frontend::run_eagerly(impl_->graph, inputs);
}

std::vector<Tensor> GraphFunction::evaluate(const std::vector<Tensor>& inputs, Evaluator evaluator) const {
  passes::CheckedGraph bound{ir::bind(impl_->graph, frontend::bind_inputs(impl_->graph, inputs)), {}};
  if (settings().check) bound = passes::check_indices(bound.graph);
  std::vector<ir::Array> arrays;
  for (const Tensor& x : inputs) arrays.push_back(frontend::to_array(x));
  frontend::CommonDevice device;
  for (const Tensor& x : inputs) device.add(x, name());
  std::vector<Tensor> outputs;
  if (evaluator == Evaluator::reference)
    for (const ir::Exact& exact : ir::evaluate_reference(bound.graph, arrays))
      outputs.push_back(frontend::to_tensor(exact.rounded(), device.get()));
  else
    for (const ir::Array& array : ir::evaluate_typed(bound.graph, arrays))
      outputs.push_back(frontend::to_tensor(array, device.get()));
  const std::size_t own = impl_->graph.outputs().size();
  for (std::size_t i = 0; i < bound.checks.size(); ++i)
    passes::check_index(impl_->graph, bound.checks[i], outputs[own + 2 * i].item<std::int64_t>(),
                        outputs[own + 2 * i + 1].item<std::int64_t>());
  outputs.resize(own);
  return outputs;
}

Program GraphFunction::lower(const Target& target, std::optional<Numerics> numerics) const {
  runtime::ProgramOptions options;
  options.numerics = numerics ? *numerics : *numerics_from_name(settings().numerics);
  options.target = frontend::parse_target(target);
  return Program(frontend::build(ir::bind(impl_->graph, {}), std::move(options)));
}

}  // namespace sinter
