// Kernels on a GPU that fold axes: each row goes to a team of threads, lanes of a warp for short rows and a
// block for longer ones, which take vectors of it side by side. A row that fits the team's registers is read
// once; a longer one is read anew by every walk over it.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/staging.h"
#include "codegen/team.h"

namespace sinter::codegen {
namespace {

constexpr int largest_team = 1024;
constexpr int shared_block = 256;  // threads of a block that several teams share

/// Where neither the tensors' dtypes nor where they lie may decide which thread folds what, nor what else the
/// kernel does.
int fixed_vector(const Kernel& k) {
  constexpr int elements = 4;
  return k.written_run.known_divisor(k.facts) % elements == 0 ? elements : 1;
}

}  // namespace

std::optional<Schedule> choose_team_rows(const Kernel& k, const DeviceDescription& device, std::string&) {
  int inner = -1, kept_axis = -1;
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    (k.axes[i].reduced ? inner : kept_axis) = static_cast<int>(i);
  Schedule s;
  s.chooser = "team rows";
  if (k.fixed_fold_order)
    s.vector = fixed_vector(k);
  else if (inner >= 0)
    s.vector = vector_elements(k, inner, device.vector_bytes);
  const int bytes = k.fixed_fold_order ? static_cast<int>(sizeof(float)) : register_bytes(k);
  const Team team = team_for(k.row_length(), s.vector, bytes, largest_team);
  s.exact = team.exact;
  // A row that is read anew by every walk is read once less.
  if (!k.fixed_fold_order && !team.whole && !k.folds_across()) s.joined = joinable(k, true);
  s.crossings = register_crossings(k, team, s.vector, s.joined);
  const int rows = team.threads <= warp_threads ? shared_block / team.threads : 1;
  s.block_threads = rows * team.threads;
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  if (rows > 1 && kept_axis >= 0) s.axes[static_cast<std::size_t>(kept_axis)].push_back({Level::block, rows});
  if (inner < 0) return s;
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  if (team.whole) along.clear();
  along.push_back({Level::loop, team.chunks});
  if (team.threads > warp_threads) along.push_back({Level::warp, team.threads / warp_threads});
  along.push_back({Level::lane, std::min(team.threads, warp_threads)});
  if (s.vector > 1) along.push_back({Level::vector, s.vector});
  return s;
}

}  // namespace sinter::codegen
