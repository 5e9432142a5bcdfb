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

/// Where neither the tensors' dtypes nor where they lie may decide which thread folds what, nor what else the
/// kernel does.
int fixed_vector(const Kernel& k) {
  constexpr int elements = 4;
  return k.written_run.known_divisor(k.facts) % elements == 0 ? elements : 1;
}

}  // namespace

std::optional<Schedule> choose_team_rows(const Kernel& k, const DeviceDescription& device, std::string&) {
  const int inner = k.innermost(true), kept_axis = k.innermost(false);
  Schedule s;
  s.chooser = "team rows";
  const bool fixed = k.fixed_fold_order;
  RowVectors vectors{fixed ? fixed_vector(k) : 1, false, {}, 0, k.row_length()};
  if (!fixed && inner >= 0) vectors = row_vectors(k, inner, device.vector_bytes);
  s.vector = vectors.elements;
  s.skewed = vectors.skewed;
  const int bytes = fixed ? static_cast<int>(sizeof(float)) : register_bytes(k);
  Team team = team_for(vectors, bytes, largest_team, fixed ? 1 : tensors_of_walk(k));
  if (const Team few = team_of_few(k, vectors); !fixed && few.whole && team.threads > few.threads) team = few;
  const Team terms = fixed ? Team{} : team_of_terms(k, vectors);
  if (terms.whole) team = terms;
  s.exact = team.exact;
  // A row that is read anew by every walk is read once less.
  if (!fixed && !team.whole) s.joined = joinable(k, true);
  if (terms.whole) {
    s.joined = joinable(k);
    s.crossings = term_crossings(k, s.joined);
  } else {
    s.crossings = register_crossings(k, team, s.vector, s.joined);
  }
  const int rows = rows_of_block(team);
  s.block_threads = rows * team.threads;
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  if (rows > 1 && kept_axis >= 0) s.axes[static_cast<std::size_t>(kept_axis)].push_back({Level::block, rows});
  if (inner < 0) return s;
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  if (team.whole) along.clear();
  take_in_vectors(along, team.chunks, team.threads, s.vector);
  return s;
}

}  // namespace sinter::codegen
