#include "runtime/program.h"

#include <algorithm>
#include <cstring>

#include "codegen/cut_groups.h"
#include "codegen/divide.h"
#include "codegen/merge_reductions.h"
#include "codegen/split_across.h"
#include "ir/base/check.h"
#include "ir/base/log.h"
#include "ir/base/settings.h"
#include "ir/evaluate_typed.h"
#include "passes/pipeline.h"
#include "runtime/kernel_cache.h"
#include "runtime/program_impl.h"
#include "runtime/tune.h"

namespace sinter::runtime {

using ir::Value;

namespace {

/// cuBLASLt has no products of whole numbers that wrap, takes dense rows or columns only, and adds a bias to
/// what it has accumulated, which rounds at another place than eager does.
passes::ProductLibrary product_library(const ProgramOptions& options) {
  if (options.target.backend == codegen::Backend::cpu) return {};
  return {false, false, options.numerics != Numerics::strict};
}

}  // namespace

Program::Program() : impl_(std::make_unique<Impl>()) {}
Program::~Program() = default;

void Program::Impl::store_outputs() {
  for (const passes::Group& group : partition.groups)
    for (Value v : group.outputs) views[v.id] = ir::View{v, 0, ir::contiguous_strides(optimized.shape(v))};
}

codegen::Kernel Program::Impl::lower(const passes::Group& group) const {
  codegen::Kernel kernel = codegen::lower(optimized, group, views, forms);
  kernel.fixed_fold_order = options.numerics == Numerics::strict;
  for (codegen::KernelBuffer& b : kernel.buffers)
    for (std::size_t i = 0; i < options.layouts.size(); ++i)
      if (optimized.inputs()[i] == b.value) b.alignment = options.layouts[i].alignment;
  return kernel;
}

std::shared_ptr<const Program> Program::build(ir::Graph captured, ProgramOptions options) {
  std::shared_ptr<Program> program(new Program);
  Impl& p = *program->impl_;
  p.captured = std::move(captured);
  p.options = std::move(options);
  SINTER_ASSERT(p.options.layouts.empty() || p.options.layouts.size() == p.captured.inputs().size(),
                "{} layouts for {} inputs", p.options.layouts.size(), p.captured.inputs().size());
  passes::PassContext context{p.options.numerics, product_library(p.options), {}, p.options.dump_prefix};
  for (const InputLayout& layout : p.options.layouts) context.inputs.push_back(layout.strides);
  if (settings().check && p.captured.symbols().empty()) p.checked = passes::check_indices(p.captured);
  p.optimized = passes::optimize(p.to_run(), context);
  p.views = passes::memory_views(p.optimized, context.inputs, context.library);
  const bool gpu = p.options.target.backend == codegen::Backend::cuda;
  const bool any_order = p.options.numerics != Numerics::strict;  // of folding
  const codegen::DeviceDescription& device = codegen::describe(p.options.target);
  p.forms = gpu ? passes::math_forms(p.optimized, p.options.numerics) : std::vector<passes::MathForm>{};
  passes::FusionOptions fusion{.across_rows = gpu && any_order,
                               .most_joined = codegen::most_joined(p.options.target.backend),
                               .row_memory = device.bulk_copies ? device.shared_bytes_per_block : 0};
  p.partition = passes::fuse(p.optimized, context.inputs, context.library, fusion);
  if (fusion.row_memory > 0 && !p.rows_fit()) {
    fusion.row_memory = 0;
    p.partition = passes::fuse(p.optimized, context.inputs, context.library, fusion);
  }
  p.store_outputs();
  if (gpu) p.cut_groups();
  p.generate();
  p.join();
  p.start_tuning();
  if (log_enabled(Topic::fusion)) log(Topic::fusion, "{}", program->explain());
  if (log_enabled(Topic::source)) log(Topic::source, "{}", program->source());
  if (!p.optimized.symbols().empty()) return program;
  p.executable = p.executable_of(p.sources);
  for (Value v : p.optimized.inputs()) p.input_shapes.push_back(p.optimized.shape(v).values());
  p.range = lasting_name(p.captured.name());
  return program;
}

std::unique_ptr<Executable> Program::Impl::executable_of(
    const std::vector<codegen::KernelSource>& printed) const {
  std::vector<PlannedKernel> planned;
  for (std::size_t i = 0; i < kernels.size(); ++i) planned.push_back({&kernels[i], &printed[i]});
  return std::make_unique<Executable>(optimized, partition.groups, planned, launches, views);
}

std::vector<KernelSpec> Program::Impl::specs_of(const std::vector<codegen::KernelSource>& printed) const {
  std::vector<KernelSpec> specs;
  for (const codegen::KernelSource& s : printed)
    specs.push_back({s.name, s.text, s.header + s.text, s.name, s.target, options.ordinal});
  return specs;
}

void Program::Impl::cut_groups() {
  const codegen::DeviceDescription& device = codegen::describe(options.target);
  partition = codegen::cut_groups(optimized, std::move(partition), views, [&](const passes::Group& group) {
    codegen::Kernel kernel = lower(group);
    if (kernel.folds_across()) return codegen::Cut{};
    if (!kernel.fixed_fold_order) codegen::merge_reductions(kernel);
    return codegen::cut_of(kernel, codegen::choose_schedule(kernel, device), device);
  });
  store_outputs();
}

void Program::Impl::generate() {
  const codegen::DeviceDescription& device = codegen::describe(options.target);
  const auto add = [&](codegen::Kernel kernel) {
    // What folds across rows has the row at hand for every walk, and its teams have been counted.
    if (options.target.backend == codegen::Backend::cuda && !kernel.fixed_fold_order &&
        !kernel.folds_across())
      codegen::merge_reductions(kernel);
    kernels_of.back().push_back(static_cast<int>(kernels.size()));
    sources.push_back(codegen::emit(kernel, codegen::choose_schedule(kernel, device), options.target));
    kernels.push_back(std::move(kernel));
  };
  for (const passes::Group& group : partition.groups) {
    kernels_of.emplace_back();
    if (group.kind == passes::GroupKind::gemm) continue;
    codegen::Kernel kernel = lower(group);
    if (kernel.folds_across()) {
      auto [rows, columns] = codegen::split_across(kernel, device);
      add(std::move(rows));
      add(std::move(columns));
      continue;
    }
    const codegen::Backend backend = options.target.backend;
    const auto joins = [&](int more_than) {
      return std::ranges::any_of(group.nodes,
                                 [&](Value v) { return passes::joins_many(optimized, v, more_than); });
    };
    if (joins(codegen::most_joined(backend)))
      std::ranges::for_each(codegen::divide(kernel, backend), add);
    else if (joins(1))
      std::ranges::for_each(codegen::divide_few(kernel, backend), add);
    else
      add(std::move(kernel));
  }
}

/// Whether threads can hold what they need of the rows of each kernel that folds across rows, too.
bool Program::Impl::rows_fit() const {
  const codegen::DeviceDescription& device = codegen::describe(options.target);
  return std::ranges::all_of(partition.groups, [&](const passes::Group& group) {
    if (group.kind == passes::GroupKind::gemm || group.after_rows.empty()) return true;
    return codegen::fits_rows_across(lower(group), device);
  });
}

Device& Program::runs_on() const {
  return device({impl_->options.target.backend, impl_->options.ordinal});
}

void Program::prepare() const {
  if (impl_->compiled.load(std::memory_order_acquire)) return;
  const std::scoped_lock lock(impl_->compiling);
  if (impl_->compiled) return;
  if (settings().autotune && impl_->options.target.backend == codegen::Backend::cpu)
    warn_once("autotune",
              "SINTER_AUTOTUNE is set, and programs that run on the CPU are not tuned: their schedules "
              "have no candidates");
  std::vector<std::shared_ptr<const LoadedKernel>> kernels =
      kernel_cache().get_or_compile(impl_->specs_of(impl_->sources));
  if (impl_->executable) impl_->executable->check(runs_on(), kernels);
  impl_->compiled_kernels = std::move(kernels);
  impl_->compiled.store(true, std::memory_order_release);
}

namespace {

void check_inputs(const Program::Impl& p, const Device& device, std::span<const TensorView> inputs) {
  const ir::Graph& g = p.optimized;
  if (inputs.size() != g.inputs().size())
    fail<ValueError>("{}: takes {} tensors, got {}", g.name(), g.inputs().size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value v = g.inputs()[i];
    if (inputs[i].dtype != g.dtype(v) || inputs[i].shape != p.input_shapes[i])
      fail<ValueError>("{}: input {} must be {}{}", g.name(), i, name(g.dtype(v)), g.shape(v).str());
    if (&inputs[i].buffer->device() != &device)
      fail<DeviceError>("{}: runs on {}, and input {} is on {}; move it with to()", g.name(), device.name(),
                        i, inputs[i].buffer->device().name());
  }
}

ir::Array to_array(const TensorView& view) {
  ir::Array array(view.dtype, view.shape);
  const auto size = static_cast<std::size_t>(size_of(view.dtype));
  const std::int64_t n = array.elements();
  std::vector<std::int64_t> at(view.shape.size(), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < at.size(); ++k) offset += at[k] * view.strides[k];
    std::memcpy(array.data.data() + static_cast<std::size_t>(i) * size,
                view.data + offset * static_cast<std::int64_t>(size), size);
    for (std::size_t k = at.size(); k-- > 0 && ++at[k] == view.shape[k];) at[k] = 0;
  }
  return array;
}

/// For machines without a compiler. The outputs are in row-major order.
std::vector<Location> evaluate(const ir::Graph& g, std::span<const TensorView> inputs) {
  std::vector<ir::Array> arrays;
  for (const TensorView& v : inputs) arrays.push_back(to_array(v));
  std::vector<Location> results;
  for (const ir::Array& a : ir::evaluate_typed(g, arrays)) {
    std::shared_ptr<Buffer> buffer = Buffer::allocate(static_cast<std::int64_t>(a.data.size()));
    std::byte* const data = buffer->data();
    if (!a.data.empty()) std::memcpy(data, a.data.data(), a.data.size());
    results.push_back({std::move(buffer), data});
  }
  return results;
}

TensorView view_of(Location location, const TensorLayout& layout) {
  return {std::move(location), layout.dtype(), layout.shape().values(), layout.strides()};
}

}  // namespace

namespace {

/// What runs while it lives, under one name in profilers.
class Range {
 public:
  Range(Device& device, const char* name) : device_(device) { device.begin_range(name); }
  ~Range() { device_.end_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  Device& device_;
};

}  // namespace

void Program::Impl::check_indices(Device& device, std::vector<Location>& results) const {
  if (!checked) return;
  const auto number = [&](std::size_t result) {
    std::int64_t value = 0;
    device.copy_to_host(&value, results[result].data, sizeof value);
    return value;
  };
  const std::size_t own = captured.outputs().size();
  for (std::size_t i = 0; i < checked->checks.size(); ++i)
    passes::check_index(captured, checked->checks[i], number(own + 2 * i), number(own + 2 * i + 1));
  results.resize(own);
}

std::vector<TensorView> Program::run(std::span<const TensorView> inputs) const {
  const Impl& p = *impl_;
  if (!p.executable)
    fail<ValueError>("{}: the length {} has no value; give one to run", p.captured.name(),
                     p.captured.symbols()[0]);
  Device& on = runs_on();
  check_inputs(p, on, inputs);
  std::vector<TensorView> results;
  if (is_evaluated()) {
    std::vector<Location> outputs = evaluate(p.to_run(), inputs);
    p.check_indices(on, outputs);
    for (Location& output : outputs) {
      const Value v = p.captured.outputs()[results.size()].value;
      results.push_back(
          view_of(std::move(output), *TensorLayout::make(p.captured.dtype(v), p.captured.shape(v))));
    }
    return results;
  }
  std::vector<const Location*> locations;
  for (const TensorView& input : inputs) locations.push_back(&input);
  for (Location& output : launch(locations))
    results.push_back(view_of(std::move(output), *output_layouts()[results.size()]));
  return results;
}

std::vector<Location> Program::launch(std::span<const Location* const> inputs) const {
  const Impl& p = *impl_;
  Device& on = runs_on();
  prepare();
  if (p.to_tune.load(std::memory_order_acquire)) p.tune_once(on, inputs);
  const Range range(on, p.range);
  const Impl::Tuned* const t = p.tuned.load(std::memory_order_acquire);
  std::vector<Location> outputs = t != nullptr ? t->executable->run(on, inputs, t->kernels)
                                               : p.executable->run(on, inputs, p.compiled_kernels);
  p.check_indices(on, outputs);
  return outputs;
}

const std::vector<std::shared_ptr<const TensorLayout>>& Program::output_layouts() const {
  return impl_->executable->layouts();
}

bool Program::is_evaluated() const {
  return impl_->options.target.backend == codegen::Backend::cpu && !impl_->sources.empty() &&
         !kernel_cache().can_compile();
}

const ir::Graph& Program::captured() const {
  return impl_->captured;
}
const ir::Graph& Program::optimized() const {
  return impl_->optimized;
}
const passes::Partition& Program::partition() const {
  return impl_->partition;
}
int Program::launches() const {
  if (impl_->executable) return impl_->executable->launches();
  return static_cast<int>(impl_->launches.size());
}

std::string Program::source() const {
  std::string text;
  std::vector<std::string_view> seen;
  for (const codegen::KernelSource& s : impl_->running_sources()) {
    if (std::ranges::find(seen, s.text) != seen.end()) continue;
    seen.push_back(s.text);
    text += (text.empty() ? "" : "\n") + s.header + s.text;
  }
  return text;
}

}  // namespace sinter::runtime
