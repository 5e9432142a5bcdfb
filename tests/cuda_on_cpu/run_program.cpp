#include "tests/cuda_on_cpu/run_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "codegen/device.h"
#include "ir/base/check.h"
#include "passes/join_bias.h"
#include "runtime/kernel_params.h"
#include "runtime/matmul.h"
#include "runtime/program_impl.h"
#include "tests/cuda_on_cpu/launch.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/run_program.h"

namespace sinter::testing::cuda_on_cpu {
namespace {

using ir::Value;

/// Where a value is stored. `data` is the element (0, ..., 0); the bytes that may be touched may begin
/// before.
struct Storage {
  std::shared_ptr<runtime::Buffer> buffer;
  std::byte* data = nullptr;
  std::int64_t before = 0, bytes = 0;
};

Storage new_storage(std::int64_t bytes, std::int64_t before, int alignment) {
  // The element (0, ..., 0) is what the alignment holds for.
  const std::int64_t lead = (before + 127) / 128 * 128;
  auto memory = std::make_shared<LonelyMemory>(bytes + lead, alignment);
  std::byte* const data = memory->data() + lead;
  return {runtime::Buffer::foreign(data - before, bytes, [memory](void*) {}), data, before, bytes};
}

/// A copy of what a view shows, in the same layout.
Storage placed_input(const runtime::TensorView& view, int alignment) {
  constexpr std::int64_t most_copied = 256 << 20;
  std::int64_t least = 0, greatest = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return new_storage(0, 0, alignment);
    const std::int64_t reach = (view.shape[i] - 1) * view.strides[i];
    (reach < 0 ? least : greatest) += reach;
  }
  const int size = size_of(view.dtype);
  const std::int64_t bytes = (greatest - least + 1) * size;
  if (bytes > most_copied) return {view.buffer, view.data, -least * size, bytes};
  Storage storage = new_storage(bytes, -least * size, alignment);
  std::memcpy(storage.data - storage.before, view.data + least * size, static_cast<std::size_t>(bytes));
  return storage;
}

class Run {
 public:
  Run(const runtime::Program& program, std::span<const codegen::KernelSource> sources,
      std::span<const runtime::TensorView> inputs)
      : p_(program.impl()), sources_(sources), g_(p_.optimized), places_(g_.size()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int alignment = p_.options.layouts.empty() ? 64 : p_.options.layouts[i].alignment;
      places_[g_.inputs()[i].id] = placed_input(inputs[i], alignment);
    }
  }

  std::vector<runtime::TensorView> run() {
    for (const runtime::Launch& launch : p_.launches) {
      std::vector<runtime::LaunchPart> kernels;
      for (const runtime::LaunchPart& part : launch) {
        const passes::Group& group = p_.partition.groups[static_cast<std::size_t>(part.group)];
        for (Value v : group.outputs) place_output(v);
        if (std::ranges::all_of(group.outputs, [&](Value v) { return g_.shape(v).is_empty(); })) continue;
        if (part.kernel < 0)
          run_matmul(group);
        else
          kernels.push_back(part);
      }
      if (!kernels.empty()) run_kernels(kernels);
    }
    for (const auto& [value, coverage] : coverage_)
      if (const std::int64_t missing = coverage->first_missing(); missing >= 0)
        throw KernelFault(Fault::coverage,
                          fmt::format("{}: element {} of {}{} is written by no launch", g_.name(), missing,
                                      name(g_.dtype(Value{value})), g_.shape(Value{value}).str()));
    std::vector<runtime::TensorView> results;
    for (const ir::Output& out : g_.outputs()) results.push_back(view_of(out.value));
    return results;
  }

 private:
  runtime::TensorView view_of(Value v) const {
    const ir::View& view = *p_.views[v.id];
    const Storage& storage = places_[view.base.id];
    runtime::TensorView result{storage.buffer,
                               storage.data + view.offset.value() * size_of(g_.dtype(v)),
                               g_.dtype(v),
                               g_.shape(v).values(),
                               {}};
    for (const ir::Dim& stride : view.strides) result.strides.push_back(stride.value());
    return result;
  }

  /// The first launch that writes to it finds new memory.
  void place_output(Value v) {
    Storage& storage = places_[v.id];
    if (storage.buffer) return;
    storage = new_storage(g_.shape(v).elements().value() * size_of(g_.dtype(v)), 0, 64);
  }

  Coverage* coverage_of(Value v) {
    std::unique_ptr<Coverage>& coverage = coverage_[v.id];
    const Storage& storage = places_[v.id];
    if (!coverage) coverage = std::make_unique<Coverage>(storage.data, storage.bytes, size_of(g_.dtype(v)));
    return coverage.get();
  }

  /// Where the value is, or what the group's kernels leave each other.
  const Storage& storage_of(const codegen::Kernel& kernel, const codegen::KernelBuffer& buffer, int group) {
    if (buffer.partial < 0) return places_[buffer.value.id];
    std::vector<Storage>& partials = partials_[group];
    if (buffer.written)
      partials.push_back(
          new_storage((buffer.parts * kernel.row_length()).value() * size_of(buffer.dtype), 0, 64));
    return partials[static_cast<std::size_t>(buffer.partial)];
  }

  /// One launch of kernels that have one text.
  void run_kernels(const std::vector<runtime::LaunchPart>& parts) {
    using Kind = codegen::KernelParam::Kind;
    std::vector<const codegen::KernelSource*> sources;
    for (const runtime::LaunchPart& part : parts)
      sources.push_back(&sources_[static_cast<std::size_t>(part.kernel)]);
    const codegen::KernelSource& first = *sources[0];
    std::vector<std::byte> params =
        first.schedule.batch > 1 ? runtime::batch_params(sources) : runtime::constant_params(first);
    Launch launch;
    std::vector<std::shared_ptr<LonelyMemory>> scratch;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const codegen::Kernel& kernel = p_.kernels[static_cast<std::size_t>(parts[i].kernel)];
      const codegen::KernelSource& source = *sources[i];
      for (const codegen::KernelParam& p : source.params) {
        const std::string title = parts.size() > 1 ? fmt::format("{} of {}", p.name, i) : p.name;
        const int offset = static_cast<int>(i) * source.param_bytes + p.offset;
        if (p.kind == Kind::scratch) {
          const codegen::ScratchArray& array = source.scratch[static_cast<std::size_t>(p.buffer)];
          const std::int64_t bytes = array.elements.value() * array.element_bytes;
          scratch.push_back(std::make_shared<LonelyMemory>(bytes, 64));
          std::byte* const data = scratch.back()->data();
          if (array.counters) std::memset(data, 0, static_cast<std::size_t>(bytes));
          runtime::put_param(params, offset, data);
          launch.buffers.push_back({title, array.counters ? Region::Kind::counters : Region::Kind::scratch,
                                    data, bytes, array.element_bytes});
        }
        if (p.kind != Kind::buffer) continue;
        const codegen::KernelBuffer& buffer = kernel.buffers[static_cast<std::size_t>(p.buffer)];
        const Storage& storage = storage_of(kernel, buffer, parts[i].group);
        runtime::put_param(params, offset, storage.data);
        const Region region{title,
                            buffer.written ? Region::Kind::output : Region::Kind::input,
                            storage.data - storage.before,
                            storage.bytes,
                            size_of(buffer.dtype),
                            buffer.written && buffer.partial < 0 ? coverage_of(buffer.value) : nullptr};
        // Several kernels of a launch may write, or read, one tensor.
        if (std::ranges::none_of(launch.buffers, [&](const Region& r) {
              return r.data == region.data && r.bytes == region.bytes;
            }))
          launch.buffers.push_back(region);
      }
      launch.blocks += source.units.value();
    }
    if (launch.blocks == 0) return;  // which no GPU launches
    const auto compiled = Kernel::compile(first.name, first.text);
    launch.kernel = compiled.get();
    launch.params = params;
    launch.block_threads = first.schedule.block_threads;
    launch.cluster = first.cluster;
    launch.shared_bytes = first.shared_bytes;
    launch.together = first.together;
    std::int64_t shared = first.shared_bytes;
    for (const Region& r : compiled->shared_arrays()) shared += r.bytes;
    SINTER_ASSERT(shared <= codegen::describe(first.target).shared_bytes_per_block,
                  "{}: {} bytes of shared memory, more than {} has", first.name, shared, first.target.arch);
    run_launch(launch);
  }

  void run_matmul(const passes::Group& group) {
    const bool adds_bias = group.nodes.size() > 1;
    const passes::BiasedProduct sum = adds_bias ? *passes::biased_product(g_, group.outputs[0])
                                                : passes::BiasedProduct{group.outputs[0], {}};
    const auto operand = [&](std::size_t i) { return array_of(view_of(g_.operands(sum.product)[i])); };
    const ir::Array a = operand(0), b = operand(1);
    const runtime::TensorView c = view_of(group.outputs[0]);
    const std::size_t rank = c.shape.size();
    const std::int64_t m = c.shape[rank - 2], n = c.shape[rank - 1], k = a.shape[rank - 1];
    std::int64_t batch = 1;
    for (std::size_t i = 0; i + 2 < rank; ++i) batch *= c.shape[i];
    runtime::matmul(c.dtype, {batch, m, n, k}, {a.data.data(), m * k, k, 1}, {b.data.data(), k * n, n, 1},
                    {c.data, m * n, n, 1});
    if (adds_bias) add_row(c, sum.bias);
  }

  /// A bias is one row, repeated.
  void add_row(const runtime::TensorView& to, Value bias) const {
    runtime::TensorView row = view_of(bias);
    row.shape = {to.shape.back()};
    row.strides = {1};
    const ir::Array added = array_of(row);
    ir::Array sums = array_of(to);
    for (std::int64_t i = 0; i < sums.elements(); ++i)
      sums.set(i, ir::Scalar::from_real(to.dtype, sums.at(i).real() + added.at(i % added.elements()).real()));
    std::memcpy(to.data, sums.data.data(), sums.data.size());
  }

  const runtime::Program::Impl& p_;
  const std::span<const codegen::KernelSource> sources_;
  const ir::Graph& g_;
  std::vector<Storage> places_;                                  // per value
  std::map<int, std::vector<Storage>> partials_;                 // per group
  std::map<std::uint32_t, std::unique_ptr<Coverage>> coverage_;  // per value that kernels write
};

}  // namespace

std::vector<runtime::TensorView> run_program(const runtime::Program& program,
                                             std::span<const runtime::TensorView> inputs) {
  return run_with(program, program.impl().sources, inputs);
}

std::vector<runtime::TensorView> run_with(const runtime::Program& program,
                                          std::span<const codegen::KernelSource> sources,
                                          std::span<const runtime::TensorView> inputs) {
  return Run(program, sources, inputs).run();
}

}  // namespace sinter::testing::cuda_on_cpu
