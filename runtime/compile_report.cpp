// What the compiler makes of a program's kernels, for people and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/base/check.h"
#include "runtime/kernel_report.h"
#include "runtime/program_impl.h"

namespace sinter::runtime {

#ifndef SINTER_CUDA
std::vector<KernelReport> report_kernels(std::span<const codegen::Kernel>,
                                         std::span<const codegen::KernelSource>) {
  fail<UnsupportedError>(
      "CUDA kernels are compiled by NVRTC, which comes with the CUDA backend, and this build has none; their "
      "source can be printed all the same");
}

std::string cuda_compiler_name() {
  return {};
}
#endif

namespace {

/// "1 x 16, 4 x 4": how many accesses of which width, over all tensors.
std::string widths(const KernelReport& report, bool stores) {
  std::vector<std::pair<int, int>> counts;  // width, count
  for (const TensorAccesses& a : report.accesses) {
    if (a.is_store != stores) continue;
    const auto same = std::ranges::find(counts, a.bytes, &std::pair<int, int>::first);
    if (same != counts.end())
      same->second += a.count;
    else
      counts.emplace_back(a.bytes, a.count);
  }
  std::ranges::sort(counts, std::greater{});
  std::string text;
  for (const auto& [width, count] : counts)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, width);
  return text.empty() ? "-" : text;
}

/// Columns as wide as their longest cell, the first aligned to the left.
template <std::size_t N>
std::string table(const std::vector<std::array<std::string, N>>& rows) {
  std::array<std::size_t, N> width{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < N; ++i) width[i] = std::max(width[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < N; ++i)
      text += i == 0 ? fmt::format("{:<{}}", row[i], width[i]) : fmt::format("  {:>{}}", row[i], width[i]);
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<KernelReport> Program::kernel_reports() const {
  const Impl& p = *impl_;
  if (p.options.target.backend != codegen::Backend::cuda)
    fail<ValueError>(
        "{}: was generated for the CPU; what NVRTC makes of a kernel is known of programs for a CUDA target, "
        "such as Target(\"sm_90a\")",
        p.captured.name());
  return report_kernels(p.kernels, p.running_sources());
}

std::string Program::compile_report() const {
  const Impl& p = *impl_;
  const std::vector<KernelReport> reports = kernel_reports();
  std::vector<std::array<std::string, 7>> rows{
      {"kernel", "registers", "spill bytes", "shared bytes", "loads", "stores", "ms"}};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const KernelReport& r = reports[i];
    const auto number = [&](int KernelReport::Resources::*field) {
      return r.resources ? std::to_string((*r.resources).*field) : "?";
    };
    rows.push_back({p.kernels[i].name, number(&KernelReport::Resources::registers),
                    number(&KernelReport::Resources::spill_bytes),
                    number(&KernelReport::Resources::shared_bytes), widths(r, false), widths(r, true),
                    fmt::format("{:.0f}", r.compile_ms)});
  }
  std::string text =
      fmt::format("{} for {} by {}\n", p.captured.name(), p.options.target.arch, cuda_compiler_name());
  if (!reports.empty()) text += table(rows);
  const auto products = std::ranges::count(p.partition.groups, passes::GroupKind::gemm, &passes::Group::kind);
  if (products > 0)
    text += fmt::format("{}; no kernel is compiled for {}\n",
                        products == 1 ? std::string("a matrix product runs in cuBLASLt")
                                      : fmt::format("{} matrix products run in cuBLASLt", products),
                        products == 1 ? "it" : "them");
  else if (reports.empty())
    text += "nothing is computed, so no kernel is compiled\n";
  return text;
}

std::string Program::compile_json() const {
  return as_json(kernel_reports());
}

std::string Program::ptx() const {
  const Impl& p = *impl_;
  const std::vector<KernelReport> reports = kernel_reports();
  std::string text;
  std::vector<std::string_view> seen;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (std::ranges::find(seen, p.running_sources()[i].text) != seen.end()) continue;
    seen.push_back(p.running_sources()[i].text);
    text += (text.empty() ? "" : "\n") + p.running_sources()[i].header + reports[i].ptx;
  }
  return text;
}

}  // namespace sinter::runtime
