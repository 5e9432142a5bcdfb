// Kernels that fold outer axes while memory runs along a kept innermost one: a tile of neighbouring rows side
// by side.
#include "codegen/schedule.h"

namespace sinter::codegen {

std::optional<Schedule> choose_column(const Kernel& k, const DeviceDescription&, std::string& why) {
  constexpr int tile = 64;           // four vectors of f32, the widest there are
  constexpr std::int64_t least = 8;  // a narrower tensor leaves most of a vector empty
  if (k.axes.empty() || k.axes.back().reduced) {
    why = "column: the innermost axis is folded";
    return std::nullopt;
  }
  const ir::Dim& inner = k.axes.back().extent;
  if (!runs_along(k, static_cast<int>(k.axes.size()) - 1) || (inner.is_constant() && inner.value() < least)) {
    why = "column: memory does not run along the innermost axis";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "column";
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::thread}});
  s.axes.back().push_back({Level::vector, tile});
  s.crossings = costly_crossings(k, Residence::shared);
  return s;
}

}  // namespace sinter::codegen
