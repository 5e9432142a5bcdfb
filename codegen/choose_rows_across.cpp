// Kernels on a GPU that fold rows and across them: a team of threads walks over row after row, each thread
// over the same places of every one, so that what it folds across rows stays in its registers. While a row is
// in work, bulk copies bring the next ones, where the device has such; a long row is read where they put it.
#include <algorithm>
#include <bit>

#include "codegen/access.h"
#include "codegen/split_across.h"
#include "codegen/team.h"

namespace sinter::codegen {
namespace {

constexpr int largest_team = 1024, large_team = 512;
constexpr int shared_block = 256;  // threads of a block that several teams share
// Registers of a thread: so few that a multiprocessor has 1024 threads, or 512.
constexpr int few_registers = 64, many_registers = 128;
// Of its registers, bytes for a thread's part of a row and what it carries along: where it can have no more
// than those few, where it can but slows nothing down if it takes more, and where it may have the many.
constexpr int held_at_most = 96, held_bytes = 128, held_by_few = 256;
constexpr int most_rows_at_once = 3;

/// How a row is divided among the threads of a team.
struct Division {
  Team team;
  int vector;             // elements of an access
  int registers;          // of a thread, at most
  bool in_place = false;  // each walk reads the row where bulk copies have put it; else it stays in registers
};

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

/// The same without warps that have no vector, if several teams share a multiprocessor: others take their
/// place.
Team without_idle_warps(Team team, std::int64_t length, int vector) {
  if (team.threads <= warp_threads || team.threads > large_team) return team;
  const std::int64_t of_thread = std::int64_t{vector} * team.chunks;
  team.threads = static_cast<int>(whole_warps((length + of_thread - 1) / of_thread));
  return team;
}

/// What a thread carries along it reads and writes back at once at the end: each place for that is an
/// address.
constexpr int bytes_of_address = 20;

int sums_across(const Kernel& k) {
  return static_cast<int>(std::ranges::count(k.values, true, &KernelValue::across));
}

/// With the row in registers, if it fits them.
std::optional<Division> in_registers(const Kernel& k, int vector) {
  constexpr int few_sums = 2;  // whose addresses are among the registers that any kernel needs
  const int bytes = register_bytes(k) + carried_bytes(k);
  const int addresses = std::max(0, sums_across(k) - few_sums) * bytes_of_address;
  const std::int64_t length = k.row_length().value();
  const auto held = [&](const Team& team) { return team.chunks * vector * bytes + addresses; };
  const Team team = team_across(length, vector, largest_team),
             fewer = team_across(length, vector, large_team);
  if (held(team) <= (team.threads > large_team ? held_at_most : held_bytes))
    return Division{without_idle_warps(team, length, vector), vector, few_registers};
  if (held(fewer) > held_by_few) return std::nullopt;
  return Division{fewer, vector, held(fewer) > held_bytes ? many_registers : few_registers};
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

/// Whether such elements are moved by accesses that are narrower than they could be.
bool is_narrow(const Kernel& k, int vector) {
  constexpr int wide = 16;  // bytes
  return vector * narrowest_in_row(k) < wide;
}

/// Where rows lie so that accesses are narrow, a thread makes many: with one apiece most of its instructions
/// would be those that any thread needs, and a row takes so short that teams wait for each other most of the
/// time. Of several teams one works meanwhile.
std::optional<Team> team_of_narrow(const Kernel& k, int vector) {
  constexpr int part_bytes = 32, most_of_part = 16;  // bytes, elements; and up to half more
  const int element_bytes = narrowest_in_row(k);
  const std::int64_t length = k.row_length().value(), vectors = (length + vector - 1) / vector;
  if (!is_narrow(k, vector) || vectors <= warp_threads) return std::nullopt;
  const std::int64_t part = std::min(part_bytes / element_bytes, most_of_part);
  const auto chunks_of = [&](std::int64_t threads) { return (vectors + threads - 1) / threads; };
  std::int64_t threads = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>((length + part - 1) / part))),
      warp_threads, large_team);
  if (threads < large_team && chunks_of(threads) * vector > part * 3 / 2) threads *= 2;
  return Team{static_cast<int>(threads), static_cast<int>(chunks_of(threads)), true};
}

/// Whether a thread of many registers has enough of them, if it holds so many bytes of each of its elements.
/// What it has folded of a row is there several times while many elements are folded together.
bool holds(const Kernel& k, const Team& team, int vector, int bytes, int most) {
  constexpr int times = 5;
  int others = sums_across(k) * bytes_of_address;
  for (const KernelValue& v : k.values)
    if (v.kind == KernelValue::Kind::reduce && !v.across) others += times * state_bytes(k, v);
  return team.chunks * vector * (bytes + carried_bytes(k) * 3 / 2) + others <= most;
}

/// What a thread holds of each element, `bytes` if elements lie side by side: by itself each takes a
/// register.
int held_bytes_of(const Kernel& k, int vector, int bytes) {
  constexpr int register_size = 4;
  return bytes * std::max(1, register_size / (vector * narrowest_in_row(k)));
}

/// The row in registers. Those of narrow vectors are filled in pairs, and some are lost.
bool holds_row(const Kernel& k, const Team& team, int vector) {
  constexpr int most = 490, lost_bytes = 8;
  const int lost = vector > 1 && is_narrow(k, vector) ? team.chunks * lost_bytes : 0;
  return holds(k, team, vector, held_bytes_of(k, vector, register_bytes(k)), most - lost);
}

/// The row elsewhere, and what is the same for all rows in registers.
bool holds_beside_row(const Kernel& k, const Team& team, int vector) {
  constexpr int most = 560, most_elements = 40;
  int bytes = 0;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    if (is_same_for_rows(k, static_cast<int>(v))) bytes += size_of(k.values[v].dtype);
  return team.threads > warp_threads && team.chunks * vector <= most_elements &&
         holds(k, team, vector, held_bytes_of(k, vector, bytes), most);
}

/// What bulk copies can bring of each row, and bytes that all of that takes in shared memory.
struct Copies {
  std::vector<int> loads;
  std::int64_t bytes = 0;
  bool all = true;  // nothing else is loaded for each element of a row
};

Copies copies_of(const Kernel& k) {
  Copies copies;
  const std::vector<bool> in_row = k.varies_in_row();
  for (std::size_t v = 0; v < k.values.size(); ++v) {
    const int value = static_cast<int>(v);
    if (!in_row[v] || k.values[v].kind != KernelValue::Kind::load || is_same_for_rows(k, value)) continue;
    if (!copies_in_bulk(k, value, {}) && !copies_with_neighbours(k, value)) {
      copies.all = false;
      continue;
    }
    copies.loads.push_back(value);
    copies.bytes += places_of_copy(k, value) * size_of(k.values[v].dtype);
  }
  return copies;
}

/// How many rows bulk copies can have on their way.
int rows_at_once(const Kernel& k, const Copies& copies, const DeviceDescription& device, int blocks) {
  constexpr int alignment = 128;
  if (!device.bulk_copies || copies.loads.empty()) return 1;
  const auto loads = static_cast<int>(copies.loads.size());
  const std::int64_t room = device.shared_bytes_per_block / blocks -
                            exchanged_bytes(k, most_rows_at_once * loads) - std::int64_t{alignment} * loads;
  return static_cast<int>(std::clamp<std::int64_t>(room / copies.bytes, 1, most_rows_at_once));
}

/// Nothing if the row fits neither the registers nor the shared memory.
std::optional<Division> divide_row(const Kernel& k, const DeviceDescription& device, const Copies& copies,
                                   int vector) {
  const std::int64_t length = k.row_length().value();
  const bool copied = copies.all && rows_at_once(k, copies, device, 1) > 1;
  if (const auto narrow = team_of_narrow(k, vector)) {
    if (holds_row(k, *narrow, vector)) return Division{*narrow, vector, many_registers};
    if (copied && holds_beside_row(k, *narrow, vector))
      return Division{*narrow, vector, many_registers, true};
  }
  if (const auto whole = in_registers(k, vector)) return whole;
  const Team beside = without_idle_warps(team_across(length, vector, large_team), length, vector);
  if (copied && holds_beside_row(k, beside, vector)) return Division{beside, vector, many_registers, true};
  while (vector > 1)
    if (const auto whole = in_registers(k, vector /= 2)) return whole;
  return std::nullopt;
}

}  // namespace

bool fits_rows_across(const Kernel& k, const DeviceDescription& device) {
  return divide_row(k, device, copies_of(k), vector_elements(k, k.innermost(true), device.vector_bytes))
      .has_value();
}

std::optional<Schedule> choose_rows_across(const Kernel& k, const DeviceDescription& device,
                                           std::string& why) {
  if (!k.folds_across()) {
    why = "rows across: nothing is folded across rows";
    return std::nullopt;
  }
  const int inner = k.innermost(true), kept_axis = k.innermost(false);
  Schedule s;
  s.chooser = "rows across";
  const Copies copies = copies_of(k);
  const Division d =
      divide_row(k, device, copies, vector_elements(k, inner, device.vector_bytes))
          .value_or(Division{team_across(k.row_length().value(), 1, large_team), 1, many_registers});
  const Team& team = d.team;
  s.vector = d.vector;
  if (!d.in_place) s.crossings = register_crossings(k, team, s.vector);
  const int rows = rows_of_block(team, shared_block);
  s.block_threads = rows * team.threads;
  s.least_blocks = std::max(1, device.registers_per_processor / (d.registers * s.block_threads));
  if (team.threads > warp_threads) s.rows_at_once = rows_at_once(k, copies, device, s.least_blocks);
  if (s.rows_at_once > 1) s.bulk_loads = copies.loads;
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
