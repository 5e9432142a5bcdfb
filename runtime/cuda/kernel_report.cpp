#include "runtime/kernel_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <unordered_map>

#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/ptx_accesses.h"
#include "runtime/cuda/ptxas_report.h"
#include "runtime/thread_pool.h"

namespace sinter::runtime {
namespace {

using codegen::KernelParam;

KernelReport compile(const codegen::KernelSource& source) {
  const auto start = std::chrono::steady_clock::now();
  const CudaCode code = nvrtc().compile(source.name, source.header + source.text, source.target.arch);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  KernelReport report;
  report.compile_ms = spent.count();
  report.compilations = code.compilations;
  report.ptx = code.ptx;
  if (const auto used = read_ptxas_report(code.log))
    report.resources = {used->registers, used->spill_bytes, used->stack_bytes,
                        used->shared_bytes + source.shared_bytes};
  const int stride = source.schedule.batch > 1 ? source.param_bytes : 0;
  std::vector<int> pointers;
  for (const KernelParam& p : source.params)
    if (p.kind == KernelParam::Kind::buffer) pointers.push_back(p.offset);
  for (const GlobalAccesses& a : global_accesses(code.ptx, pointers, stride)) {
    const auto param = std::ranges::find_if(source.params, [&](const KernelParam& p) {
      return p.kind == KernelParam::Kind::buffer && p.offset == a.parameter;
    });
    const std::string tensor = param != source.params.end() ? param->name : "";
    report.accesses.push_back({tensor, a.is_store, a.bytes, a.count});
  }
  return report;
}

/// Per buffer, whether it is one of the largest that the kernel reads, or writes. Lengths without a value are
/// taken for long.
std::vector<bool> large_buffers(const codegen::Kernel& kernel, bool written) {
  constexpr std::int64_t share = 8;  // of the largest
  const std::vector<ir::Dim> bytes = kernel.buffer_bytes(written);
  const bool any_open = std::ranges::any_of(bytes, [](const ir::Dim& b) { return !b.is_constant(); });
  std::int64_t most = 0;
  for (const ir::Dim& b : bytes)
    if (b.is_constant()) most = std::max(most, b.value());
  std::vector<bool> large;
  for (const ir::Dim& b : bytes)
    large.push_back(!b.is_constant() || (!any_open && b.value() > 0 && b.value() >= most / share));
  return large;
}

int width_of_large(const codegen::Kernel& kernel, const codegen::KernelSource& source,
                   const KernelReport& report, bool written) {
  const std::vector<bool> large = large_buffers(kernel, written);
  int narrowest = 0;
  for (const KernelParam& p : source.params) {
    if (p.kind != KernelParam::Kind::buffer || !large[static_cast<std::size_t>(p.buffer)]) continue;
    int widest = 0;
    for (const TensorAccesses& a : report.accesses)
      if (a.tensor == p.name && a.is_store == written) widest = std::max(widest, a.bytes);
    if (widest > 0) narrowest = narrowest == 0 ? widest : std::min(narrowest, widest);
  }
  return narrowest;
}

}  // namespace

std::vector<KernelReport> report_kernels(std::span<const codegen::Kernel> kernels,
                                         std::span<const codegen::KernelSource> sources) {
  std::unordered_map<std::string_view, std::size_t> numbers;
  std::vector<std::size_t> first;  // of equal sources
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (numbers.try_emplace(sources[i].text, first.size()).second) first.push_back(i);
  std::vector<KernelReport> compiled(first.size());
  std::vector<std::exception_ptr> errors(first.size());
  parallel_for(0, static_cast<std::int64_t>(first.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) try {
        compiled[i] = compile(sources[first[i]]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  std::vector<KernelReport> reports;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    KernelReport report = compiled[numbers.at(sources[i].text)];
    report.load_bytes = width_of_large(kernels[i], sources[i], report, false);
    report.store_bytes = width_of_large(kernels[i], sources[i], report, true);
    reports.push_back(std::move(report));
  }
  return reports;
}

std::string cuda_compiler_name() {
  return nvrtc().usable() ? fmt::format("NVRTC {}", nvrtc().version()) : "";
}

}  // namespace sinter::runtime
