// Kernels on a GPU that fold axes: each row goes to a team of threads, lanes of a warp for short rows and a
// block for longer ones, which take vectors of it side by side. A row that fits the team's registers is read
// once; a longer one is read anew by every walk over it.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/staging.h"
#include "codegen/team.h"
#include "codegen/vary_rows.h"

namespace sinter::codegen {
namespace {

constexpr int largest_team = 1024, many_threads = 512;

/// Where neither the tensors' dtypes nor where they lie may decide which thread folds what, nor what else the
/// kernel does.
int fixed_vector(const Kernel& k) {
  constexpr int elements = 4;
  return k.written_run.known_divisor(k.facts) % elements == 0 ? elements : 1;
}

/// Of what is loaded anew for every row.
std::int64_t bytes_of_row(const Kernel& k) {
  const std::vector<bool> in_row = k.varies_in_row();
  std::int64_t bytes = 0;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    if (k.values[v].kind == KernelValue::Kind::load && in_row[v] && !is_same_for_rows(k, static_cast<int>(v)))
      bytes += k.row_length().value() * size_of(k.values[v].dtype);
  return bytes;
}

/// Blocks for which registers must leave room on a multiprocessor, where a few registers more would keep one
/// out that the memory is idle without; 0: the compiler decides.
int least_blocks_for(const Kernel& k, const Team& team, const RowVectors& vectors) {
  constexpr int processor_threads = 2048;
  if (vectors.skewed) {  // what is in no vector takes some more
    constexpr int least_threads = 256, few_elements = 16;
    const bool fills = vectors.spare == 0 && vectors.elements >= 8 && team.threads >= least_threads &&
                       team.chunks * vectors.elements <= few_elements;
    return fills ? processor_threads / team.threads : 0;
  }
  constexpr std::int64_t enough_bytes = 64 << 10;  // on their way at once
  constexpr int blocks = 3;
  const std::int64_t bytes = bytes_of_row(k);
  const bool two_are_few = 2 * bytes < enough_bytes && blocks * bytes >= enough_bytes;
  return two_are_few && blocks * team.threads <= processor_threads ? blocks : 0;
}

/// Whether no element of a row is stored.
bool only_reads(const Kernel& k) {
  const std::vector<bool> in_row = k.varies_in_row();
  return std::ranges::none_of(k.stores, [&](const KernelStore& s) { return k.stores_in_row(s, in_row); });
}

}  // namespace

std::optional<Schedule> choose_team_rows(const Kernel& k, const DeviceDescription& device, std::string&) {
  const int inner = k.innermost(true), kept_axis = k.innermost(false);
  Schedule s;
  s.chooser = "team rows";
  const bool fixed = k.fixed_fold_order;
  RowVectors vectors{fixed ? fixed_vector(k) : 1, false, 0, k.row_length(), {}};
  if (!fixed && inner >= 0) vectors = row_vectors(k, inner, device.vector_bytes);
  s.vector = vectors.elements;
  s.skewed = vectors.skewed;
  const int bytes = fixed ? static_cast<int>(sizeof(float)) : register_bytes(k);
  Team team = team_for(vectors, bytes, largest_team, fixed ? 1 : tensors_of_walk(k), !fixed && only_reads(k));
  if (const Team few = team_of_few(k, vectors); !fixed && few.whole && team.threads > few.threads) team = few;
  // Many threads that hold a row leave the memory idle while they exchange; where they need not hold it, a
  // few walk over it.
  if (const std::vector<int> joined = joinable(k, true);
      !fixed && team.threads > many_threads && !joined.empty() && separate_walks(k, joined).size() == 1)
    team = Team{many_threads};
  // A row that is read anew by every walk is read once less.
  if (!fixed && !team.whole) s.joined = joinable(k, true);
  s.crossings = register_crossings(k, team, s.vector, s.joined);
  const int rows = rows_of_block(team);
  s.block_threads = rows * team.threads;
  if (!fixed && team.whole) s.least_blocks = least_blocks_for(k, team, vectors);
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  if (rows > 1 && kept_axis >= 0) s.axes[static_cast<std::size_t>(kept_axis)].push_back({Level::block, rows});
  if (inner < 0) return s;
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  if (team.whole) along.clear();
  take_in_vectors(along, team.chunks, team.threads, s.vector);
  return s;
}

namespace {

class Varied : public RowVariants {
 public:
  using RowVariants::RowVariants;

  std::vector<Schedule> run() {
    if (is_looped(chosen_row_axis()))
      looped();
    else
      whole();
    return std::move(variants_);
  }

 private:
  void whole() {
    for (const int threads : {team_ / 2, 2 * team_}) whole_rows(threads);
    if (std::optional<Schedule> other = rows_in_shared_memory(k_, device_)) add(std::move(*other));
    if (const int rows = chosen_.block_threads / team_; rows > 1)
      for (const int other : {2 * rows, rows / 2}) rows_of_block(other);
    whole_rows(4 * team_);
  }

  void looped() {
    steps(2 * team_, chunks_);
    steps(team_, chunks_ / 2);
    steps(team_, 2 * chunks_);
    steps(team_ / 2, chunks_);
    if (std::optional<Schedule> other = rows_in_shared_memory(k_, device_)) add(std::move(*other));
  }

  void set_rows(Schedule& s, int rows, int threads) const {
    s.block_threads = rows * threads;
    const int kept = k_.innermost(false);
    if (kept < 0) return;
    std::vector<Factor>& axis = s.axes[static_cast<std::size_t>(kept)];
    std::erase_if(axis, [](const Factor& f) { return f.level == Level::block; });
    if (rows > 1) axis.push_back({Level::block, rows});
  }

  /// A team of another size that has the whole row in registers.
  void whole_rows(int threads) {
    const std::int64_t length = vectors_.span.value();
    const std::int64_t chunks = divided(divided(length, chosen_.vector), threads);
    const bool same_class = (threads > warp_threads) == (team_ > warp_threads);
    if (threads <= most_edges(vectors_) || threads > device_.block_threads || !same_class ||
        (threads > warp_threads && threads % warp_threads != 0) || chunks == chunks_ ||
        chunks * chosen_.vector * register_bytes(k_) > most_register_bytes(threads))
      return;
    Schedule s = chosen_;
    const Team team{threads, static_cast<int>(chunks), true};
    s.crossings = register_crossings(k_, team, s.vector, s.joined);
    set_team(s, threads, team.chunks);
    set_rows(s, codegen::rows_of_block(team), threads);
    add(std::move(s));
  }

  void rows_of_block(int rows) {
    Schedule s = chosen_;
    set_rows(s, rows, team_);
    if (s.block_threads >= least_threads_varied) add(std::move(s));
  }

  static std::int64_t divided(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }
};

}  // namespace

std::vector<Schedule> vary_team_rows(const Kernel& k, const DeviceDescription& device,
                                     const Schedule& chosen) {
  return RowVariants::can_vary(k) ? Varied(k, device, chosen).run() : std::vector<Schedule>{};
}

}  // namespace sinter::codegen
