#include "runtime/executable.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "ir/base/check.h"
#include "passes/join_bias.h"
#include "passes/memory_plan.h"
#include "runtime/kernel_params.h"
#include "runtime/thread_pool.h"

namespace sinter::runtime {

using ir::Value;

namespace {

std::int64_t bytes_of(const ir::Graph& g, Value v) {
  return g.shape(v).elements().value() * size_of(g.dtype(v));
}

}  // namespace

Executable::Executable(const ir::Graph& g, std::span<const passes::Group> groups,
                       std::span<const PlannedKernel> kernels, std::span<const Launch> launches,
                       const std::vector<std::optional<ir::View>>& views) {
  const std::vector<std::size_t> outputs_until = place_values(g, groups, kernels, launches, views);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    const passes::Group& group = groups[static_cast<std::size_t>(launch[0].group)];
    const bool empty = std::ranges::all_of(group.outputs, [&](Value v) { return g.shape(v).is_empty(); });
    if (empty) continue;
    Step step = launch.size() > 1      ? joined_step(kernels, launch)
                : launch[0].kernel < 0 ? matmul_step(g, group, views)
                                       : kernel_step(kernels, launch[0]);
    // One of a group's kernels may have nothing to do, and a GPU refuses to launch no blocks.
    if (step.kernel >= 0 && step.launch.units == 0) continue;
    step.outputs = outputs_until[i];
    steps_.push_back(std::move(step));
  }
  add_results(g, views);
}

void Executable::add_results(const ir::Graph& g, const std::vector<std::optional<ir::View>>& views) {
  std::vector<Result*> last(output_bytes_.size());
  results_.reserve(g.outputs().size());
  for (const ir::Output& out : g.outputs()) {
    const ir::View& view = *views[out.value.id];
    const DType dtype = g.dtype(out.value);
    Result& r = results_.emplace_back(Result{places_[view.base.id], view.offset.value() * size_of(dtype)});
    SINTER_ASSERT(r.place.kind != Place::Kind::none, "nothing writes output {}", results_.size() - 1);
    if (r.place.kind == Place::Kind::output) {
      Result*& before = last[static_cast<std::size_t>(r.place.index)];
      if (before) before->last = false;
      before = &r;
    }
    std::vector<std::int64_t> strides;
    for (const ir::Dim& stride : view.strides) strides.push_back(stride.value());
    layouts_.push_back(TensorLayout::make(dtype, g.shape(out.value), std::move(strides)));
  }
}

/// Numbers the buffers of outputs in the order in which launches write them; how many each launch and those
/// before it use.
std::vector<std::size_t> Executable::place_outputs(const ir::Graph& g, std::span<const passes::Group> groups,
                                                   std::span<const Launch> launches,
                                                   const std::vector<std::optional<ir::View>>& views) {
  std::vector<bool> is_output(g.size());
  for (const ir::Output& out : g.outputs()) is_output[views[out.value.id]->base.id] = true;
  const auto place = [&](Value v) {
    if (!is_output[v.id] || places_[v.id].kind != Place::Kind::none) return;
    places_[v.id] = {Place::Kind::output, static_cast<std::int64_t>(output_bytes_.size())};
    output_bytes_.push_back(bytes_of(g, v));
  };
  std::vector<std::size_t> until;
  for (const Launch& launch : launches) {
    for (const LaunchPart& part : launch)
      std::ranges::for_each(groups[static_cast<std::size_t>(part.group)].outputs, place);
    until.push_back(output_bytes_.size());
  }
  return until;
}

/// Says what place_outputs does.
std::vector<std::size_t> Executable::place_values(const ir::Graph& g, std::span<const passes::Group> groups,
                                                  std::span<const PlannedKernel> kernels,
                                                  std::span<const Launch> launches,
                                                  const std::vector<std::optional<ir::View>>& views) {
  places_.resize(g.size());
  for (std::size_t i = 0; i < g.inputs().size(); ++i)
    places_[g.inputs()[i].id] = {Place::Kind::input, static_cast<std::int64_t>(i)};
  std::vector<std::size_t> outputs_until = place_outputs(g, groups, launches, views);
  // The first and the last launch of each group; all that it touches lives through them.
  std::vector<int> first(groups.size(), static_cast<int>(launches.size())), last(groups.size(), 0);
  for (std::size_t i = 0; i < launches.size(); ++i)
    for (const LaunchPart& part : launches[i]) {
      const auto group = static_cast<std::size_t>(part.group);
      first[group] = std::min(first[group], static_cast<int>(i));
      last[group] = static_cast<int>(i);
    }
  std::vector<int> last_reader(g.size(), 0);
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (Value v : groups[i].inputs) last_reader[v.id] = std::max(last_reader[v.id], last[i]);
  std::vector<passes::Lifetime> lifetimes;
  std::vector<Value> temporaries;
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (Value v : groups[i].outputs)
      if (places_[v.id].kind == Place::Kind::none) {
        lifetimes.push_back({bytes_of(g, v), first[i], std::max(last_reader[v.id], last[i])});
        temporaries.push_back(v);
      }
  partials_.resize(groups.size());
  for (const Launch& launch : launches)
    for (const LaunchPart& part : launch) {
      if (part.kernel < 0) continue;
      const codegen::Kernel& kernel = *kernels[static_cast<std::size_t>(part.kernel)].kernel;
      const auto group = static_cast<std::size_t>(part.group);
      for (const codegen::KernelBuffer& b : kernel.buffers)
        if (b.partial >= 0 && b.written) {
          partials_[group].push_back({Place::Kind::arena, static_cast<std::int64_t>(lifetimes.size())});
          lifetimes.push_back(
              {(b.parts * kernel.row_length()).value() * size_of(b.dtype), first[group], last[group]});
        }
    }
  const passes::MemoryPlan plan = passes::plan_memory(lifetimes);
  for (std::size_t i = 0; i < temporaries.size(); ++i)
    places_[temporaries[i].id] = {Place::Kind::arena, plan.offsets[i]};
  for (std::vector<Place>& partials : partials_)
    for (Place& p : partials) p.index = plan.offsets[static_cast<std::size_t>(p.index)];
  arena_bytes_ = plan.bytes;
  peak_bytes_ = plan.bytes;
  for (std::int64_t bytes : output_bytes_) peak_bytes_ += bytes;
  return outputs_until;
}

namespace {

/// Pieces that one task takes: enough work to be worth handing over.
std::int64_t grain_of(std::int64_t units, std::int64_t unit_elements) {
  constexpr std::int64_t least_elements = 1 << 15;
  constexpr std::int64_t alignment = 64;  // of single elements, so that tasks do not share cache lines
  const std::int64_t least =
      std::max<std::int64_t>(1, least_elements / std::max<std::int64_t>(1, unit_elements));
  const std::int64_t even = units / (std::int64_t{8} * thread_count()) + 1;
  const std::int64_t grain = std::max(least, even);
  return unit_elements > 1 ? grain : (grain + alignment - 1) / alignment * alignment;
}

}  // namespace

/// The addresses that the kernel's parameters take, which begin at the offset.
void Executable::add_pointers(Step& step, const PlannedKernel& planned, int group, int offset) const {
  for (const codegen::KernelParam& p : planned.source->params) {
    if (p.kind != codegen::KernelParam::Kind::buffer) continue;
    const codegen::KernelBuffer& b = planned.kernel->buffers[static_cast<std::size_t>(p.buffer)];
    const Place& place = b.partial >= 0
                             ? partials_[static_cast<std::size_t>(group)][static_cast<std::size_t>(b.partial)]
                             : places_[b.value.id];
    SINTER_ASSERT(place.kind != Place::Kind::none, "a value that a kernel reads is stored nowhere");
    step.pointers.push_back({offset + p.offset, place});
  }
}

/// One launch of several kernels, which have one text.
Executable::Step Executable::joined_step(std::span<const PlannedKernel> kernels, const Launch& launch) const {
  Step step = kernel_step(kernels, launch[0]);
  step.pointers.clear();
  step.launch.units = 0;
  std::vector<const codegen::KernelSource*> sources;
  for (const LaunchPart& part : launch) {
    const PlannedKernel& planned = kernels[static_cast<std::size_t>(part.kernel)];
    const int offset = static_cast<int>(sources.size()) * planned.source->param_bytes;
    add_pointers(step, planned, part.group, offset);
    step.launch.units += planned.source->units.value();
    sources.push_back(planned.source);
  }
  step.params = batch_params(sources);
  return step;
}

Executable::Step Executable::kernel_step(std::span<const PlannedKernel> kernels,
                                         const LaunchPart& part) const {
  const PlannedKernel& planned = kernels[static_cast<std::size_t>(part.kernel)];
  const codegen::KernelSource& source = *planned.source;
  Step step;
  step.kernel = part.kernel;
  step.params = constant_params(source);
  for (const codegen::KernelParam& p : source.params)
    if (p.kind == codegen::KernelParam::Kind::phase) step.launch.phase_offset = p.offset;
  add_pointers(step, planned, part.group, 0);
  step.launch.name = lasting_name(source.name);
  step.launch.units = source.units.value();
  constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();
  if (source.target.backend == codegen::Backend::cuda && step.launch.units > most_blocks)
    fail<UnsupportedError>("kernel {}: needs {} blocks, and a launch has {} at most; split the tensor",
                           source.name, step.launch.units, most_blocks);
  step.launch.block_threads = source.schedule.block_threads;
  step.launch.shared_bytes = source.shared_bytes;
  step.launch.cluster = source.cluster;
  step.launch.together = source.together;
  step.launch.early = source.early;
  step.launch.grain = grain_of(step.launch.units, source.unit_elements.value());
  place_scratch(source, step.launch);
  step.launch.shared_scratch = source.shared_scratch;
  step.launch.phases = source.phases;
  return step;
}

Executable::Step Executable::matmul_step(const ir::Graph& g, const passes::Group& group,
                                         const std::vector<std::optional<ir::View>>& views) const {
  const Value result = group.outputs[0];
  const bool adds_bias = group.nodes.size() > 1;
  const passes::BiasedProduct sum =
      adds_bias ? *passes::biased_product(g, result) : passes::BiasedProduct{result, {}};
  const std::span<const Value> factors = g.operands(sum.product);
  Step step;
  step.dtype = g.dtype(result);
  const ir::Shape& shape = g.shape(result);
  const int rank = shape.rank();
  step.m = shape[rank - 2].value();
  step.n = shape[rank - 1].value();
  step.k = g.shape(factors[0])[rank - 1].value();
  for (int i = 0; i < rank - 2; ++i) step.batch.push_back(shape[i].value());
  auto operand = [&](Value v) {
    const ir::View& view = *views[v.id];
    Operand o{places_[view.base.id], view.offset.value() * size_of(g.dtype(v)), {}, 0, 0};
    const auto at = [&](int axis) { return view.strides[static_cast<std::size_t>(axis)].value(); };
    o.row = at(rank - 2);
    o.column = at(rank - 1);
    for (int i = 0; i < rank - 2; ++i) o.batch.push_back(at(i));
    return o;
  };
  step.operands = {operand(factors[0]), operand(factors[1]), operand(result)};
  join_batch_axes(step);
  if (adds_bias) {
    const ir::View& view = *views[sum.bias.id];
    step.operands.push_back({places_[view.base.id], view.offset.value() * size_of(step.dtype), {}, 0, 0});
  }
  return step;
}

/// Makes one axis of those along which all operands lie evenly, since the library takes one, and drops those
/// of length 1.
void Executable::join_batch_axes(Step& step) {
  for (std::size_t i = step.batch.size(); i-- > 0;) {
    const auto evenly = [&](const Operand& o) { return o.batch[i] == step.batch[i + 1] * o.batch[i + 1]; };
    const bool drop = step.batch[i] == 1,
               join = i + 1 < step.batch.size() && std::ranges::all_of(step.operands, evenly);
    if (!drop && !join) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (!drop) step.batch[i + 1] *= step.batch[i];
    step.batch.erase(step.batch.begin() + at);
    for (Operand& o : step.operands) o.batch.erase(o.batch.begin() + at);
  }
}

/// The buffers that a run works on.
class Executable::Memory {
 public:
  Memory(const Executable& executable, Device& device, Inputs inputs)
      : device_(device), inputs_(inputs), output_bytes_(executable.output_bytes_) {
    const std::shared_ptr<Stream>& stream = device.stream();
    for (const Location* input : inputs) input->buffer->use_on(stream);
    outputs_.reserve(output_bytes_.size());
    if (executable.arena_bytes_ != 0) arena_ = Buffer::allocate(executable.arena_bytes_, device);
  }

  /// Sees to it that there are that many of the outputs.
  void provide(std::size_t outputs) {
    while (outputs_.size() < outputs)
      outputs_.push_back(Buffer::allocate(output_bytes_[outputs_.size()], device_));
  }

  std::byte* address(const Place& p) const {
    if (p.kind == Place::Kind::input) return inputs_[static_cast<std::size_t>(p.index)]->data;
    if (p.kind == Place::Kind::output) return outputs_[static_cast<std::size_t>(p.index)]->data();
    // Where all temporary values are empty there is no arena, and nobody reads or writes at the address.
    return arena_ == nullptr ? nullptr : arena_->data() + p.index;
  }
  Location result(const Result& r) {
    std::byte* const data = address(r.place) + r.offset;
    const auto i = static_cast<std::size_t>(r.place.index);
    if (r.place.kind == Place::Kind::input) return {inputs_[i]->buffer, data};
    return {r.last ? std::move(outputs_[i]) : outputs_[i], data};
  }

 private:
  Device& device_;
  const Inputs inputs_;
  const std::vector<std::int64_t>& output_bytes_;
  std::vector<std::shared_ptr<Buffer>> outputs_;
  std::shared_ptr<Buffer> arena_;
};

/// One library call per index of the outer batch axes; the innermost one is the library's.
void Executable::run_matmul(Device& device, const Step& step, const Memory& memory) {
  const std::size_t outer = step.batch.empty() ? 0 : step.batch.size() - 1;
  const std::int64_t inner = step.batch.empty() ? 1 : step.batch.back();
  std::int64_t calls = 1;
  for (std::size_t i = 0; i < outer; ++i) calls *= step.batch[i];
  const int size = size_of(step.dtype);
  for (std::int64_t call = 0; call < calls; ++call) {
    auto place = [&](const Operand& o) {
      std::int64_t elements = 0, rest = call;
      for (std::size_t i = o.batch.empty() ? 0 : outer; i-- > 0; rest /= step.batch[i])
        elements += rest % step.batch[i] * o.batch[i];
      return memory.address(o.place) + o.offset + elements * size;
    };
    auto batch_stride = [](const Operand& o) { return o.batch.empty() ? 0 : o.batch.back(); };
    const Operand &a = step.operands[0], &b = step.operands[1], &c = step.operands[2];
    device.run_matmul({step.dtype,
                       {inner, step.m, step.n, step.k},
                       {place(a), batch_stride(a), a.row, a.column},
                       {place(b), batch_stride(b), b.row, b.column},
                       {place(c), batch_stride(c), c.row, c.column},
                       step.operands.size() > 3 ? place(step.operands[3]) : nullptr});
  }
}

void Executable::check(Device& device, Kernels kernels) const {
  for (const Step& step : steps_)
    if (step.kernel >= 0) device.check_kernel(step.launch, *kernels[static_cast<std::size_t>(step.kernel)]);
}

void Executable::check_kernel(Device& device, int number, const LoadedKernel& kernel) const {
  for (const Step& step : steps_)
    if (step.kernel == number) device.check_kernel(step.launch, kernel);
}

void Executable::launch(Device& device, const Step& step, const Memory& memory, Kernels kernels) const {
  if (step.kernel < 0) return run_matmul(device, step, memory);
  constexpr std::size_t usual_bytes = 1024;
  alignas(std::max_align_t) std::array<std::byte, usual_bytes> usual;
  std::vector<std::byte> large(step.params.size() > usual_bytes ? step.params.size() : 0);
  const std::span<std::byte> params(large.empty() ? usual.data() : large.data(), step.params.size());
  std::ranges::copy(step.params, params.begin());
  for (const Step::Pointer& p : step.pointers) {
    std::byte* const address = memory.address(p.place);
    std::memcpy(params.data() + p.offset, &address, sizeof address);
  }
  device.run_kernel(step.launch, *kernels[static_cast<std::size_t>(step.kernel)], params);
}

void Executable::visit(Device& device, Inputs inputs,
                       const std::function<void(int kernel, const LaunchStep& launch)>& visit) const {
  Memory memory(*this, device, inputs);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    memory.provide(steps_[i].outputs);
    visit(steps_[i].kernel, [&](const Executable& of, Kernels kernels) {
      of.launch(device, of.steps_.at(i), memory, kernels);
    });
  }
}

std::vector<Location> Executable::run(Device& device, Inputs inputs, Kernels kernels) const {
  Memory memory(*this, device, inputs);
  for (const Step& step : steps_) {
    memory.provide(step.outputs);
    launch(device, step, memory, kernels);
  }
  memory.provide(output_bytes_.size());  // empty ones
  std::vector<Location> results;
  results.reserve(results_.size());
  for (const Result& r : results_) results.push_back(memory.result(r));
  return results;
}

}  // namespace sinter::runtime
