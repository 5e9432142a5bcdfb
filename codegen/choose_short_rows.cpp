// Kernels on the CPU that fold a few elements a row: a tile of neighbouring rows side by side, so that a
// vector holds an element of each. A row by itself would leave most of a vector, and of the lanes that folds
// run in, empty.
#include <fmt/format.h>

#include "codegen/schedule.h"

namespace sinter::codegen {

std::optional<Schedule> choose_short_rows(const Kernel& k, const DeviceDescription&, std::string& why) {
  // Elements of a row: where these are neighbours in memory, longer rows fill vectors of their own.
  constexpr std::int64_t most_neighbours = 39, most_apart = 63;
  constexpr int tile = 64;
  const ir::Dim length = k.row_length();
  const int inner = k.innermost(true);
  const std::int64_t most = inner >= 0 && runs_along(k, inner) ? most_neighbours : most_apart;
  if (!length.is_constant() || length.value() > most || length.value() < 2) {
    why = fmt::format("short rows: rows may have {} elements or more", most + 1);
    return std::nullopt;
  }
  int kept = -1;  // the innermost kept axis
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    if (!k.axes[i].reduced) kept = static_cast<int>(i);
  if (kept < 0 || (k.axes[static_cast<std::size_t>(kept)].extent.is_constant() &&
                   k.axes[static_cast<std::size_t>(kept)].extent.value() < tile)) {
    why = "short rows: there are fewer than 64 rows side by side";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "short rows";
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::thread}});
  s.axes[static_cast<std::size_t>(kept)].push_back({Level::vector, tile});
  s.crossings = costly_crossings(k, Residence::shared);
  return s;
}

}  // namespace sinter::codegen
