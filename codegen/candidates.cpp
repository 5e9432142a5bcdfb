#include "codegen/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/access.h"
#include "codegen/staging.h"
#include "codegen/team.h"
#include "codegen/vary.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

constexpr int least_threads = least_threads_varied;

std::int64_t divided(std::int64_t n, std::int64_t by) {
  return (n + by - 1) / by;
}

/// Varies a schedule for rows in one thing at a time; what is most likely to be faster comes first.
class Varied {
 public:
  Varied(const Kernel& k, const DeviceDescription& device, const Schedule& chosen)
      : k_(k), chosen_(chosen), device_(device), list_{chosen} {}

  std::vector<Schedule> run(std::string_view by) {
    if (inner_ >= 0 && k_.row_length().is_constant()) rows(by);
    return std::move(list_);
  }

 private:
  void add(Schedule s) { list_.push_back(std::move(s)); }
  std::vector<Factor>& row_axis(Schedule& s) const { return s.axes[static_cast<std::size_t>(inner_)]; }

  // ---- rows

  void rows(std::string_view by) {
    Schedule s = chosen_;
    std::vector<Factor>& along = row_axis(s);
    const Factor *warps = sized(along, Level::warp), *lanes = sized(along, Level::lane),
                 *chunks = sized(along, Level::loop);
    vectors_ = row_vectors_of(k_, inner_, s.vector, s.skewed);
    team_ = (warps ? warps->size : 1) * (lanes ? lanes->size : 1);
    chunks_ = chunks ? chunks->size : 1;
    if (by == "shared rows") return shared_rows();
    if (by == "split rows") return split_rows();
    if (is_looped(along)) return looped_rows();
    for (const int threads : {team_ / 2, 2 * team_}) whole_rows(threads);
    if (std::optional<Schedule> other = rows_in_shared_memory(k_, device_)) add(std::move(*other));
    if (const int rows = chosen_.block_threads / team_; rows > 1)
      for (const int other : {2 * rows, rows / 2}) rows_of_block(other);
    whole_rows(4 * team_);
  }

  void set_team(Schedule& s, int threads, int chunks) const {
    std::vector<Factor>& along = row_axis(s);
    std::erase_if(along, [](const Factor& f) {
      return (f.level == Level::loop && f.size != 0) || f.level == Level::warp || f.level == Level::lane ||
             f.level == Level::vector;
    });
    take_in_vectors(along, chunks, threads, s.vector);
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
        chunks == chunks_ || chunks * chosen_.vector * register_bytes(k_) > most_register_bytes(threads))
      return;
    Schedule s = chosen_;
    const Team team{threads, static_cast<int>(chunks), true,
                    !s.skewed && chunks * threads * s.vector == length};
    s.exact = team.exact;
    s.crossings = register_crossings(k_, team, s.vector, s.joined);
    set_team(s, threads, team.chunks);
    set_rows(s, codegen::rows_of_block(team), threads);
    add(std::move(s));
  }

  void rows_of_block(int rows) {
    Schedule s = chosen_;
    set_rows(s, rows, team_);
    if (s.block_threads >= least_threads) add(std::move(s));
  }

  /// Other steps of a walk over a long row.
  void steps(int threads, int chunks) {
    constexpr int most_bytes = 256;  // of registers
    if (chunks < 1 || threads < 2 * warp_threads || chunks * chosen_.vector * register_bytes(k_) > most_bytes)
      return;
    Schedule s = chosen_;
    set_team(s, threads, chunks);
    s.block_threads = threads;
    add(std::move(s));
  }

  void looped_rows() {
    steps(2 * team_, chunks_);
    steps(team_, chunks_ / 2);
    steps(team_, 2 * chunks_);
    steps(team_ / 2, chunks_);
    if (std::optional<Schedule> other = rows_in_shared_memory(k_, device_)) add(std::move(*other));
  }

  void split_rows() {
    const std::int64_t pieces = sized(row_axis(list_[0]), Level::grid)->size;
    for (const std::int64_t wanted : {pieces / 2, pieces / 4, 2 * pieces}) {
      Schedule s = chosen_;
      const int fitting = pieces_for(vectors_.span.value(), std::max<std::int64_t>(1, wanted),
                                     std::int64_t{warp_threads} * s.vector);
      sized(row_axis(s), Level::grid)->size = fitting;
      if (fitting > 1) add(std::move(s));
    }
    steps(team_ / 2, chunks_);
    steps(team_, chunks_ / 2);
  }

  void shared_rows() {
    // A row is shared by the blocks of a cluster, or by blocks of the grid that take its pieces.
    const Factor *const cluster = sized(row_axis(list_[0]), Level::cluster), *const pieces =
                                                                                 sized(row_axis(list_[0]),
                                                                                       Level::grid);
    const Level level = pieces ? Level::grid : Level::cluster;
    const int blocks = pieces ? pieces->size : cluster ? cluster->size : 1;
    const auto with_threads = [&](int threads) {
      Schedule s = chosen_;
      set_team(s, threads, chunks_);
      s.block_threads = threads;
      s.least_blocks = chosen_.least_blocks * team_ / std::max(threads, 1);
      if (threads >= least_threads) add(std::move(s));
    };
    if (blocks > 1) shared_by(pieces ? Level::cluster : Level::grid, blocks);
    with_threads(team_ / 2);
    with_threads(2 * team_);
    other_loads();
    if (blocks > 1) shared_by(level, 2 * blocks);
    if (blocks > 2) shared_by(level, blocks / 2);
    if (chosen_.rows_ahead > 0) {
      Schedule s = chosen_;
      s.rows_ahead = 0;
      add(std::move(s));
    }
    std::string why;
    if (std::optional<Schedule> other = choose_team_rows(k_, device_, why)) add(std::move(*other));
  }

  /// Bulk copies instead of loads by the threads, or the other way round.
  void other_loads() {
    Schedule s = chosen_;
    if (s.bulk_loads.empty()) {
      if (!device_.bulk_copies) return;
      for (const Crossing& c : s.crossings)
        if (copies_in_bulk(k_, c.value, inner_, vectors_)) s.bulk_loads.push_back(c.value);
    } else {
      s.bulk_loads.clear();
      s.rows_ahead = 0;
      s.least_blocks = 0;  // loads by the threads take registers
      set_team(s, team_, std::clamp(16 / s.vector, 2, 8));
    }
    add(std::move(s));
  }

  void shared_by(Level level, int blocks) {
    constexpr std::int64_t least_part = 2048;       // elements: no block is left without any
    constexpr std::int64_t other_shared = 8 << 10;  // what exchanges and the system take, at most
    const std::int64_t length = places_in_lines(vectors_);
    std::int64_t bytes = 0;
    for (const Crossing& c : chosen_.crossings)
      bytes += size_of(k_.values[static_cast<std::size_t>(c.value)].dtype);
    const bool cluster = level == Level::cluster;
    const int most = cluster ? device_.cluster_blocks : warp_threads;
    if (blocks > most || (cluster && !std::has_single_bit(static_cast<unsigned>(blocks))) ||
        length / blocks < least_part || chosen_.joined != joinable(k_, !cluster) ||
        part_of_block(length, blocks) * bytes + other_shared > device_.shared_bytes_per_block ||
        part_of_block(length, blocks) * (blocks - 1) >= vectors_.span.value() - chosen_.vector)
      return;
    Schedule s = chosen_;
    Factor& now = row_axis(s).front();
    s.least_blocks = chosen_.least_blocks * std::min(blocks, now.size) / now.size;
    now = {level, blocks};
    add(std::move(s));
  }

  const Kernel& k_;
  const Schedule& chosen_;
  const DeviceDescription& device_;
  const int inner_ = k_.innermost(true);
  RowVectors vectors_;
  int team_ = 1, chunks_ = 1;  // of rows: threads that share one, vectors that each takes at once
  std::vector<Schedule> list_;
};

}  // namespace

std::vector<Schedule> vary_team_rows(const Kernel& k, const DeviceDescription& device,
                                     const Schedule& chosen) {
  return Varied(k, device, chosen).run("team rows");
}
std::vector<Schedule> vary_split_rows(const Kernel& k, const DeviceDescription& device,
                                      const Schedule& chosen) {
  return Varied(k, device, chosen).run("split rows");
}
std::vector<Schedule> vary_shared_rows(const Kernel& k, const DeviceDescription& device,
                                       const Schedule& chosen) {
  return Varied(k, device, chosen).run("shared rows");
}

std::vector<Schedule> candidates(const Kernel& k, const Schedule& chosen, const DeviceDescription& device) {
  const bool orderly = k.fixed_fold_order && k.has_reduction();
  const bool empty = std::ranges::any_of(k.axes, [](const KernelAxis& a) { return a.extent.is(0); });
  std::vector<Schedule> list{chosen};
  if (device.target.backend == Backend::cpu || orderly || empty || chosen.batch > 1) return list;
  const std::span<const Chooser> choosers = choosers_of(device.target.backend);
  const auto by = std::ranges::find(choosers, chosen.chooser, &Chooser::name);
  SINTER_ASSERT(by != choosers.end(), "no chooser is called {}", chosen.chooser);
  if (by->vary == nullptr) return list;
  for (Schedule& s : by->vary(k, device, chosen)) {
    s.wide_index = chosen.wide_index;
    if (s.block_threads > device.block_threads || list.size() == most_candidates) continue;
    if (std::ranges::find(list, s) == list.end()) list.push_back(std::move(s));
  }
  return list;
}

std::string identity(const Schedule& s) {
  std::string text = fmt::format("{}; {} threads, vector {}, {}{}{}{}lead {}, {} blocks at least", s.str(),
                                 s.block_threads, s.vector, s.columns ? "columns, " : "",
                                 s.exact ? "exact, " : "", s.fetch_ahead ? "fetch ahead, " : "",
                                 s.wide_index ? "wide index, " : "", s.lead, s.least_blocks);
  for (const SharedTile& t : s.tiles)
    text += fmt::format("; tile {} {} by {}, {} after {}", t.load, t.store, t.access, t.skew, t.skew_every);
  return text;
}

}  // namespace sinter::codegen
