#include "runtime/executable.h"

#include <algorithm>

#include "ir/base/check.h"
#include "passes/memory_plan.h"
#include "runtime/kernel_params.h"
#include "runtime/matmul.h"
#include "runtime/thread_pool.h"

namespace sinter::runtime {

using ir::Value;

Executable::Executable(const ir::Graph& g, std::span<const PlannedGroup> groups,
                       const std::vector<std::optional<ir::View>>& views) {
  place_values(g, groups, views);
  int kernel = 0;
  for (const PlannedGroup& planned : groups) {
    const int own = planned.kernel ? kernel++ : -1;
    const bool empty =
        std::ranges::all_of(planned.group->outputs, [&](Value v) { return g.shape(v).is_empty(); });
    if (empty) continue;
    steps_.push_back(planned.kernel ? kernel_step(planned, own)
                                    : matmul_step(g, planned.group->outputs[0], views));
  }
  for (const ir::Output& out : g.outputs()) {
    const ir::View& view = *views[out.value.id];
    Result r{places_[view.base.id], view.offset.value(), g.dtype(out.value), g.shape(out.value).values(), {}};
    for (const ir::Dim& stride : view.strides) r.strides.push_back(stride.value());
    results_.push_back(std::move(r));
  }
}

void Executable::place_values(const ir::Graph& g, std::span<const PlannedGroup> groups,
                              const std::vector<std::optional<ir::View>>& views) {
  places_.resize(g.size());
  for (std::size_t i = 0; i < g.inputs().size(); ++i)
    places_[g.inputs()[i].id] = {Place::Kind::input, static_cast<std::int64_t>(i)};
  auto bytes_of = [&](Value v) { return g.shape(v).elements().value() * size_of(g.dtype(v)); };
  for (const ir::Output& out : g.outputs()) {
    const Value base = views[out.value.id]->base;
    if (places_[base.id].kind != Place::Kind::none) continue;
    places_[base.id] = {Place::Kind::output, static_cast<std::int64_t>(output_bytes_.size())};
    output_bytes_.push_back(bytes_of(base));
  }
  std::vector<int> last_reader(g.size(), 0);
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (Value v : groups[i].group->inputs) last_reader[v.id] = static_cast<int>(i);
  std::vector<passes::Lifetime> lifetimes;
  std::vector<Value> temporaries;
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (Value v : groups[i].group->outputs)
      if (places_[v.id].kind == Place::Kind::none) {
        lifetimes.push_back(
            {bytes_of(v), static_cast<int>(i), std::max(last_reader[v.id], static_cast<int>(i))});
        temporaries.push_back(v);
      }
  const passes::MemoryPlan plan = passes::plan_memory(lifetimes);
  for (std::size_t i = 0; i < temporaries.size(); ++i)
    places_[temporaries[i].id] = {Place::Kind::arena, plan.offsets[i]};
  arena_bytes_ = plan.bytes;
  peak_bytes_ = plan.bytes;
  for (std::int64_t bytes : output_bytes_) peak_bytes_ += bytes;
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

Executable::Step Executable::kernel_step(const PlannedGroup& planned, int kernel) const {
  const codegen::KernelSource& source = *planned.source;
  Step step;
  step.kernel = kernel;
  step.params = constant_params(source);
  for (const codegen::KernelParam& p : source.params) {
    if (p.kind == codegen::KernelParam::Kind::buffer) {
      const Value v = planned.kernel->buffers[static_cast<std::size_t>(p.buffer)].value;
      step.pointers.push_back({p.offset, places_[v.id]});
      SINTER_ASSERT(places_[v.id].kind != Place::Kind::none, "a value that a kernel reads is stored nowhere");
    } else if (p.kind == codegen::KernelParam::Kind::phase) {
      step.phase_offset = p.offset;
    }
  }
  step.units = source.units.value();
  step.grain = grain_of(step.units, source.unit_elements.value());
  for (const codegen::ScratchArray& array : source.scratch)
    step.scratch_bytes +=
        static_cast<std::size_t>((array.elements.value() * array.element_bytes + 63) / 64 * 64);
  step.shared_scratch = source.shared_scratch;
  step.phases = source.phases;
  return step;
}

Executable::Step Executable::matmul_step(const ir::Graph& g, Value node,
                                         const std::vector<std::optional<ir::View>>& views) const {
  Step step;
  step.dtype = g.dtype(node);
  const ir::Shape& shape = g.shape(node);
  const int rank = shape.rank();
  step.m = shape[rank - 2].value();
  step.n = shape[rank - 1].value();
  step.k = g.shape(g.operands(node)[0])[rank - 1].value();
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
  step.operands = {operand(g.operands(node)[0]), operand(g.operands(node)[1]), operand(node)};
  return step;
}

/// One library call per index of the outer batch axes; the innermost one is the library's.
template <class Address>
void Executable::run_matmul(const Step& step, const Address& address) {
  const std::size_t outer = step.batch.empty() ? 0 : step.batch.size() - 1;
  const std::int64_t inner = step.batch.empty() ? 1 : step.batch.back();
  std::int64_t calls = 1;
  for (std::size_t i = 0; i < outer; ++i) calls *= step.batch[i];
  const int size = size_of(step.dtype);
  for (std::int64_t call = 0; call < calls; ++call) {
    auto place = [&](const Operand& o) {
      std::int64_t elements = 0, rest = call;
      for (std::size_t i = outer; i-- > 0; rest /= step.batch[i])
        elements += rest % step.batch[i] * o.batch[i];
      return address(o.place) + o.offset + elements * size;
    };
    auto batch_stride = [](const Operand& o) { return o.batch.empty() ? 0 : o.batch.back(); };
    const Operand &a = step.operands[0], &b = step.operands[1], &c = step.operands[2];
    matmul(step.dtype, {inner, step.m, step.n, step.k}, {place(a), batch_stride(a), a.row, a.column},
           {place(b), batch_stride(b), b.row, b.column}, {place(c), batch_stride(c), c.row, c.column});
  }
}

void Executable::launch(const Step& step, HostKernel::Entry entry, std::vector<std::byte>& params) {
  const Scratch shared(step.shared_scratch ? step.scratch_bytes : 0);
  for (std::int64_t phase = 0; phase < step.phases; ++phase) {
    if (step.phase_offset >= 0) put_param(params, step.phase_offset, phase);
    parallel_for(0, step.units, step.grain, [&](std::int64_t begin, std::int64_t end) {
      const Scratch own(step.shared_scratch ? 0 : step.scratch_bytes);
      entry(params.data(), begin, end, step.shared_scratch ? shared.data() : own.data());
    });
  }
}

std::vector<TensorView> Executable::run(std::span<const TensorView> inputs,
                                        std::span<const std::shared_ptr<const LoadedKernel>> kernels) const {
  std::vector<std::shared_ptr<Buffer>> outputs;
  for (std::int64_t bytes : output_bytes_) outputs.push_back(Buffer::allocate(bytes));
  const std::shared_ptr<Buffer> arena = arena_bytes_ != 0 ? Buffer::allocate(arena_bytes_) : nullptr;
  auto address = [&](const Place& p) -> std::byte* {
    if (p.kind == Place::Kind::input) return inputs[static_cast<std::size_t>(p.index)].data;
    if (p.kind == Place::Kind::output) return outputs[static_cast<std::size_t>(p.index)]->data();
    return arena->data() + p.index;
  };
  std::vector<std::byte> params;
  for (const Step& step : steps_) {
    if (step.kernel >= 0) {
      params = step.params;
      for (const Step::Pointer& p : step.pointers) put_param(params, p.offset, address(p.place));
      launch(step, host_entry(*kernels[static_cast<std::size_t>(step.kernel)]), params);
    } else {
      run_matmul(step, address);
    }
  }
  std::vector<TensorView> results;
  for (const Result& r : results_) {
    TensorView view;
    const bool of_input = r.place.kind == Place::Kind::input;
    view.buffer = of_input ? inputs[static_cast<std::size_t>(r.place.index)].buffer
                           : outputs[static_cast<std::size_t>(r.place.index)];
    view.data = address(r.place) + r.offset * size_of(r.dtype);
    view.dtype = r.dtype;
    view.shape = r.shape;
    view.strides = r.strides;
    results.push_back(std::move(view));
  }
  return results;
}

}  // namespace sinter::runtime
