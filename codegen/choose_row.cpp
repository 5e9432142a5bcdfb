// Kernels that fold one axis along which memory runs: a row each for a thread of the CPU, or a block of a GPU.
#include <algorithm>

#include "codegen/schedule.h"
#include "codegen/staging.h"

namespace sinter::codegen {
namespace {

/// Values worth keeping between walks: a function such as exp costs more than writing and reading one element.
constexpr int keep_flops = 8;

bool runs_along(const Kernel& k, int axis) {
  auto walks = [&](const Affine& a) { return a.factor(axis).is(1) || a.factor(axis).is(0); };
  return std::ranges::all_of(k.values, [&](const KernelValue& v) { return v.kind != KernelValue::Kind::load || walks(v.address); }) &&
         std::ranges::all_of(k.stores, [&](const KernelStore& s) { return walks(s.address); });
}

}  // namespace

std::optional<Schedule> choose_row(const Kernel& k, const DeviceDescription& device, std::string& why) {
  std::vector<int> reduced;
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    if (k.axes[i].reduced) reduced.push_back(static_cast<int>(i));
  if (reduced.size() != 1 || !runs_along(k, reduced[0])) {
    why = "row: memory does not run along one folded axis";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "row";
  const bool cpu = device.target.backend == Backend::cpu;
  s.block_threads = cpu ? 1 : 256;
  for (const KernelAxis& a : k.axes) {
    if (!a.reduced)
      s.axes.push_back({{cpu ? Level::thread : Level::grid}});
    else if (cpu)
      s.axes.push_back({{Level::loop}, {Level::vector}});
    else
      s.axes.push_back({{Level::loop}, {Level::block, s.block_threads}});
  }
  if (cpu)
    for (const Walk& w : stage(k, [&](int v) { return flops(k.values[static_cast<std::size_t>(v)]) >= keep_flops; }).walks)
      for (int v : w.kept) s.crossings.push_back({v, Residence::shared});
  return s;
}

}  // namespace sinter::codegen
