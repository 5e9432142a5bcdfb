// Every other reduction: any folded axes, any strides. Correct for all kernels; each thread, or block, takes
// a row.
#include "codegen/schedule.h"

namespace sinter::codegen {

std::optional<Schedule> choose_plain(const Kernel& k, const DeviceDescription& device, std::string&) {
  Schedule s;
  s.chooser = "plain";
  const bool cpu = device.target.backend == Backend::cpu;
  s.block_threads = cpu ? 1 : 256;
  for (const KernelAxis& a : k.axes) {
    if (!a.reduced)
      s.axes.push_back({{cpu ? Level::thread : Level::grid}});
    else if (cpu)
      s.axes.push_back({{Level::loop}});
    else
      s.axes.push_back({{Level::loop}, {Level::block, s.block_threads}});
  }
  return s;
}

}  // namespace sinter::codegen
