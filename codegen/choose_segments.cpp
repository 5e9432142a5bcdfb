// Kernels whose rows fold a part of an axis each, as a scatter has them: a thread folds the part of its row
// from its first element to its last, and neighbouring threads, or a vector, take neighbouring rows. So the
// order of a sum depends on nothing but the part.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/team.h"
#include "ir/scatter.h"

namespace sinter::codegen {

std::optional<Schedule> choose_segments(const Kernel& k, const DeviceDescription& device, std::string& why) {
  constexpr int block_threads = 128, tile = 256;
  constexpr std::int64_t least = 8;  // a narrower tensor leaves most of a vector empty
  const int folded = k.segment_axis();
  if (folded < 0) {
    why = "segments: rows fold the whole of each folded axis";
    return std::nullopt;
  }
  const int inner = k.innermost(false);
  // Rows side by side that fold the same part.
  const bool shares = inner > folded && runs_along(k, inner);
  const bool cpu = device.target.backend == Backend::cpu;
  Schedule s;
  s.chooser = "segments";
  for (const KernelAxis& a : k.axes)
    s.axes.push_back({{a.reduced ? Level::loop : cpu ? Level::thread : Level::grid}});
  if (cpu) {
    const ir::Dim& side_by_side = k.axes[static_cast<std::size_t>(std::max(inner, 0))].extent;
    if (shares && !(side_by_side.is_constant() && side_by_side.value() < least))
      s.axes[static_cast<std::size_t>(inner)].push_back({Level::vector, tile});
    return s;
  }
  s.columns = true;
  s.axes[static_cast<std::size_t>(folded)].push_back({Level::loop, ir::segment_run});
  if (inner < 0) return s;  // one row
  s.block_threads = block_threads;
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  along.push_back({Level::warp, block_threads / warp_threads});
  along.push_back({Level::lane, warp_threads});
  if (shares) s.vector = vector_elements(k, inner, device.vector_bytes);
  if (s.vector > 1) along.push_back({Level::vector, s.vector});
  return s;
}

}  // namespace sinter::codegen
