#include "frontend/eager.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "frontend/build.h"
#include "frontend/device_of.h"
#include "frontend/graph_key.h"
#include "frontend/program_inputs.h"
#include "frontend/signature.h"
#include "ir/base/check.h"
#include "ir/base/settings.h"
#include "ir/view.h"

namespace sinter::frontend {
namespace {

/// Programs of operations run so far, by graph and layouts of its inputs.
class ProgramCache {
 public:
  using Pointer = std::shared_ptr<const runtime::Program>;

  Pointer find(const std::string& key) {
    const std::shared_lock lock(mutex_);
    const auto found = programs_.find(key);
    return found == programs_.end() ? nullptr : found->second;
  }

  void insert(std::string key, Pointer program) {
    const std::unique_lock lock(mutex_);
    // Programs are cheap to make again, since their kernels are kept elsewhere; so the bound needs no fine
    // choice.
    if (programs_.size() >= most_programs) programs_.clear();
    programs_.insert_or_assign(std::move(key), std::move(program));
  }

 private:
  static constexpr std::size_t most_programs = 4096;
  std::shared_mutex mutex_;
  std::unordered_map<std::string, Pointer> programs_;
};

/// Those with checks, which SINTER_CHECK asks for, and those without are kept apart.
ProgramCache& cache() {
  static std::array<ProgramCache, 2> programs;
  return programs[settings().check];
}

/// The same programs by what was called, which is told without a graph.
ProgramCache& kept() {
  static std::array<ProgramCache, 2> programs;
  return programs[settings().check];
}

std::shared_ptr<const runtime::Program> program_for(ir::Graph graph, const ProgramInputs& inputs,
                                                    runtime::Device& device) {
  std::string key = graph_key(graph);
  append_device(key, device);
  for (const Tensor* x : inputs.tensors())
    append_signature(key, *impl_of(*x).layout, storage_of(*x, "its memory").data);
  if (auto program = cache().find(key)) return program;
  runtime::ProgramOptions options;
  options.numerics = Numerics::strict;
  options.target = device.target();
  options.ordinal = device.id().ordinal;
  for (const Tensor* x : inputs.tensors()) options.layouts.push_back(layout_of(*x));
  auto program = build(std::move(graph), std::move(options));
  cache().insert(std::move(key), program);
  return program;
}

bool looks_only(ir::Op op) {
  return ir::is_movement(op) && op != ir::Op::pad && op != ir::Op::concat;
}

/// `result` as a view of the memory of an input, where it is one.
std::optional<Tensor> as_view(const ir::Graph& graph, ir::Value result, std::span<const Tensor> inputs) {
  if (!looks_only(graph.op(result))) return std::nullopt;
  const std::vector<ir::Value>& given = graph.inputs();
  auto number_of = [&](ir::Value v) {
    return static_cast<std::size_t>(std::ranges::find(given, v) - given.begin());
  };
  const auto views = ir::views_of(graph, [&](ir::Value v) -> std::optional<std::vector<ir::Dim>> {
    const std::size_t i = number_of(v);
    if (i == given.size()) return std::nullopt;
    const std::vector<std::int64_t> strides = inputs[i].strides();
    return std::vector<ir::Dim>(strides.begin(), strides.end());
  });
  const std::optional<ir::View>& seen = views[result.id];
  if (!seen) return std::nullopt;
  runtime::TensorView view = view_of(inputs[number_of(seen->base)]);
  view.data += seen->offset.value() * size_of(view.dtype);
  view.shape = graph.shape(result).values();
  view.strides.clear();
  for (const ir::Dim& stride : seen->strides) view.strides.push_back(stride.value());
  return from_view(std::move(view));
}

/// The constant that `v` repeats everywhere, if it is one.
const ir::Scalar* repeated_constant(const ir::Graph& graph, ir::Value v) {
  while (graph.op(v) == ir::Op::broadcast_to) v = graph.operands(v)[0];
  return graph.op(v) == ir::Op::constant ? &graph.attrs(v).value : nullptr;
}

bool has_product(const ir::Graph& graph) {
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    if (graph.op({id}) == ir::Op::matmul) return true;
  return false;
}

/// The program's only result.
Tensor run_single(const runtime::Program& program, const ProgramInputs& inputs) {
  if (!program.is_evaluated()) return std::move(inputs.run(program).front());
  std::vector<runtime::TensorView> views;
  for (const Tensor* x : inputs.tensors()) views.push_back(view_of(*x));
  return from_view(std::move(program.run(views).front()));
}

Tensor filled(ir::Scalar value, const std::vector<std::int64_t>& shape, runtime::Device& device) {
  const Tensor x = allocate(value.dtype, shape, device);
  device.fill(storage_of(x, "its memory").data, value.bits, size_of(value.dtype), x.size());
  return x;
}

}  // namespace

Tensor run_one(ir::Graph graph, ir::Value result, std::span<const Tensor> inputs, runtime::Device& device,
               const std::string& key) {
  const auto input = std::ranges::find(graph.inputs(), result);
  if (input != graph.inputs().end()) return inputs[static_cast<std::size_t>(input - graph.inputs().begin())];
  if (const ir::Scalar* value = repeated_constant(graph, result))
    return filled(*value, graph.shape(result).values(), device);
  if (auto view = as_view(graph, result, inputs)) return *view;
  if (graph.shape(result).is_empty())
    return allocate(graph.dtype(result), graph.shape(result).values(), device);
  ProgramInputs placed(device, inputs.size());
  for (const Tensor& x : inputs) placed.add(x);
  graph.output(result);
  auto program = program_for(std::move(graph), placed, device);
  // A product of what this operation makes itself is the library's like any other.
  if (program->is_evaluated() && has_product(program->captured()))
    return run_eagerly(program->captured(), inputs).front();
  Tensor made = run_single(*program, placed);
  if (!key.empty()) kept().insert(key, std::move(program));
  return made;
}

std::optional<Tensor> run_kept(const std::string& key, std::span<const Tensor> inputs) {
  const auto program = kept().find(key);
  if (!program) return std::nullopt;
  ProgramInputs placed(program->runs_on(), inputs.size());
  for (const Tensor& x : inputs) placed.add(x);
  return run_single(*program, placed);
}

Storage compute(const Generator& generator, runtime::Device& device) {
  ir::Graph graph("generator");
  const ir::Value v = generator.emit(graph);
  const Tensor x = run_one(std::move(graph), v, {}, device);
  if (x.contiguous()) return storage_of(x, "its memory");
  std::vector<std::byte> elements(x.nbytes());
  x.copy_to(elements.data());
  return storage_of(from_host(x.dtype(), x.shape(), elements.data(), device), "its memory");
}

}  // namespace sinter::frontend
