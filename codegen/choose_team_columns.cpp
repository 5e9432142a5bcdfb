// Kernels on a GPU that fold outer axes while memory runs along a kept innermost one: the lanes of a warp
// take neighbouring columns, so that each of their loads is one stretch of memory, and the warps of a block
// share the elements of those columns.
#include "codegen/access.h"
#include "codegen/staging.h"
#include "codegen/team.h"

namespace sinter::codegen {
namespace {

/// Warps of a block, so few that what its threads exchange fits the shared memory that a kernel may declare.
int most_warps(const Kernel& k) {
  constexpr int most_bytes = 48 << 10;
  int bytes = 0;  // of a thread
  for (const KernelValue& v : k.values) {
    if (v.kind != KernelValue::Kind::reduce) continue;
    bytes += size_of(k.values[static_cast<std::size_t>(v.operands[0])].dtype) +
             (v.finds_place() ? static_cast<int>(sizeof(std::int64_t)) : 0);
  }
  int warps = 16;
  while (warps > 1 && bytes * warps * warp_threads > most_bytes) warps /= 2;
  return warps;
}

}  // namespace

std::optional<Schedule> choose_team_columns(const Kernel& k, const DeviceDescription&, std::string& why) {
  constexpr std::int64_t least_columns = 8;  // fewer leave most lanes idle
  if (k.fixed_fold_order) {
    why = "team columns: the order of folds is fixed";
    return std::nullopt;
  }
  const bool keeps_innermost = !k.axes.empty() && !k.axes.back().reduced;
  const int columns = static_cast<int>(k.axes.size()) - 1;
  if (!keeps_innermost || !runs_along(k, columns) ||
      (k.axes.back().extent.is_constant() && k.axes.back().extent.value() < least_columns)) {
    why = "team columns: memory does not run along a kept innermost axis";
    return std::nullopt;
  }
  int inner = -1;
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    if (k.axes[i].reduced) inner = static_cast<int>(i);
  Schedule s;
  s.chooser = "team columns";
  Team team = team_for(k.row_length(), 1, register_bytes(k), most_warps(k));
  if (!team.whole) team.chunks = 8;
  s.exact = team.exact;
  if (!team.whole) s.joined = joinable(k);
  s.crossings = register_crossings(k, team, 1, s.joined);
  s.block_threads = warp_threads * team.threads;
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  s.axes.back().push_back({Level::lane, warp_threads});
  if (inner < 0) return s;
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  if (team.whole) along.clear();
  along.push_back({Level::loop, team.chunks});
  along.push_back({Level::warp, team.threads});
  return s;
}

}  // namespace sinter::codegen
