// Every other reduction on the CPU: any folded axes, any strides. Correct for all kernels; each thread takes
// a row.
#include "codegen/schedule.h"

namespace sinter::codegen {

std::optional<Schedule> choose_plain(const Kernel& k, const DeviceDescription&, std::string&) {
  Schedule s;
  s.chooser = "plain";
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::thread}});
  return s;
}

}  // namespace sinter::codegen
