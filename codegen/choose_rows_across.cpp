// Kernels on a GPU that fold rows and across them: a team of threads walks over row after row, each thread
// over the same places of every one, so that what it folds across rows stays in its registers. While a row is
// in work, bulk copies bring the next ones, where the device has such.
#include <algorithm>
#include <bit>

#include "codegen/access.h"
#include "codegen/team.h"

namespace sinter::codegen {
namespace {

constexpr int largest_team = 1024, large_team = 512;
constexpr int shared_block = 256;     // threads of a block that several teams share
constexpr int thread_registers = 64;  // of a thread, so that a multiprocessor has 1024
// Of its registers, bytes for a thread's part of a row and what it carries along: where it can have no more
// than those 64, where it can but slows nothing down if it takes more, and where it may take twice as many.
constexpr int held_at_most = 96, held_bytes = 128, held_by_few = 256;
constexpr int most_rows_at_once = 3;

/// Bytes that a thread carries along for each element of a row.
int carried_bytes(const Kernel& k) {
  int bytes = 0;
  for (const KernelValue& v : k.values)
    if (v.across) bytes += std::max(4, size_of(k.values[static_cast<std::size_t>(v.operands[0])].dtype));
  return bytes;
}

/// A team of at most so many threads that has the whole row, with one vector to a thread if that is enough.
Team team_across(std::int64_t length, int vector, int most_threads) {
  const std::int64_t vectors = std::max<std::int64_t>(1, (length + vector - 1) / vector);
  const auto threads = static_cast<int>(std::min<std::uint64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(vectors)), static_cast<std::uint64_t>(most_threads)));
  const std::int64_t chunks = (vectors + threads - 1) / threads;
  return {threads, static_cast<int>(chunks), true};
}

/// The largest vectors with which a thread's part fits its registers.
Team team_for_row(std::int64_t length, int& vector, int bytes) {
  for (;; vector /= 2) {
    const auto held = [&](const Team& team) { return team.chunks * vector * bytes; };
    const Team team = team_across(length, vector, largest_team);
    if (held(team) <= (team.threads > large_team ? held_at_most : held_bytes)) return team;
    const Team fewer = team_across(length, vector, large_team);
    if (vector == 1 || held(fewer) <= held_by_few) return fewer;
  }
}

/// Bytes of the narrowest elements that come with each row.
int narrowest_in_row(const Kernel& k) {
  const std::vector<bool> in_row = k.varies_in_row();
  int bytes = 8;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    if (in_row[v] && k.values[v].kind == KernelValue::Kind::load && !is_same_for_rows(k, static_cast<int>(v)))
      bytes = std::min(bytes, size_of(k.values[v].dtype));
  return bytes;
}

/// Where rows lie so that accesses are narrow, each thread makes several: with one apiece most of its
/// instructions would be those that any thread needs. Nothing if that takes too many registers.
std::optional<Team> team_of_narrow(std::int64_t length, int vector, int element_bytes, int bytes) {
  constexpr int wide = 16, part_bytes = 32;
  if (vector * element_bytes >= wide) return std::nullopt;
  const std::int64_t part = part_bytes / element_bytes, vectors = (length + vector - 1) / vector;
  if (vectors <= warp_threads) return std::nullopt;
  const std::int64_t threads = std::min<std::int64_t>(whole_warps((length + part - 1) / part), large_team);
  const std::int64_t chunks = (vectors + threads - 1) / threads;
  if (chunks * vector * bytes > held_by_few) return std::nullopt;
  return Team{static_cast<int>(threads), static_cast<int>(chunks), true};
}

/// The same without warps that have no vector, if several teams share a multiprocessor: others take their
/// place.
Team without_idle_warps(Team team, std::int64_t length, int vector) {
  if (team.threads <= warp_threads || team.threads > large_team) return team;
  const std::int64_t of_thread = std::int64_t{vector} * team.chunks;
  team.threads = static_cast<int>(whole_warps((length + of_thread - 1) / of_thread));
  return team;
}

/// How many rows bulk copies can have on their way, and which loads they take over.
void copy_in_bulk(Schedule& s, const Kernel& k, const DeviceDescription& device, int inner) {
  constexpr int barrier_bytes = 1 << 10;  // and exchanges
  if (!device.bulk_copies) return;
  const std::vector<bool> in_row = k.varies_in_row();
  std::int64_t row_bytes = 0;
  std::vector<int> loads;
  for (std::size_t v = 0; v < k.values.size(); ++v) {
    const int value = static_cast<int>(v);
    if (!in_row[v] || is_same_for_rows(k, value)) continue;
    if (!copies_in_bulk(k, value, inner, {}) && !copies_with_neighbours(k, value, inner)) continue;
    loads.push_back(value);
    row_bytes += places_of_copy(k, value, inner) * size_of(k.values[v].dtype);
  }
  const std::int64_t room = device.shared_bytes_per_block / std::max(1, s.least_blocks) - barrier_bytes;
  const std::int64_t rows = loads.empty() ? 0 : std::min<std::int64_t>(most_rows_at_once, room / row_bytes);
  if (rows < 2) return;
  s.rows_at_once = static_cast<int>(rows);
  s.bulk_loads = std::move(loads);
}

}  // namespace

std::optional<Schedule> choose_rows_across(const Kernel& k, const DeviceDescription& device,
                                           std::string& why) {
  if (!k.folds_across()) {
    why = "rows across: nothing is folded across rows";
    return std::nullopt;
  }
  const int inner = k.innermost(true), kept_axis = k.innermost(false);
  Schedule s;
  s.chooser = "rows across";
  s.vector = vector_elements(k, inner, device.vector_bytes);
  const int bytes = register_bytes(k) + carried_bytes(k);
  const std::int64_t length = k.row_length().value();
  const std::optional<Team> narrow = team_of_narrow(length, s.vector, narrowest_in_row(k), bytes);
  Team team = narrow ? *narrow : team_for_row(length, s.vector, bytes);
  const bool share = team.chunks * s.vector * bytes <= held_bytes;
  if (share) team = without_idle_warps(team, length, s.vector);
  s.crossings = register_crossings(k, team, s.vector);
  const int rows = rows_of_block(team, shared_block);
  s.block_threads = rows * team.threads;
  if (share) s.least_blocks = device.registers_per_processor / (thread_registers * s.block_threads);
  if (team.threads > warp_threads) copy_in_bulk(s, k, device, inner);
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  if (kept_axis >= 0) {
    std::vector<Factor>& rows_axis = s.axes[static_cast<std::size_t>(kept_axis)];
    rows_axis.push_back({Level::loop});
    if (rows > 1) rows_axis.push_back({Level::block, rows});
  }
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  along.clear();
  take_in_vectors(along, team.chunks, team.threads, s.vector);
  return s;
}

/// How many teams there are has been decided.
std::vector<Schedule> vary_rows_across(const Kernel&, const DeviceDescription&, const Schedule& chosen) {
  std::vector<Schedule> variants;
  const auto with = [&](int rows, int least_blocks) {
    Schedule s = chosen;
    s.least_blocks = least_blocks;
    s.rows_at_once = rows;
    if (rows < 2) s.bulk_loads.clear();
    variants.push_back(std::move(s));
  };
  if (chosen.rows_at_once > 2) with(2, chosen.least_blocks);
  if (chosen.rows_at_once > 1) with(1, chosen.least_blocks);
  if (chosen.least_blocks > 1) with(chosen.rows_at_once, 0);
  return variants;
}

}  // namespace sinter::codegen
