// Rows on a GPU that are too long for a team's registers and read more than once: a block keeps a row in
// shared memory, or a cluster of blocks a part each. Where the device has bulk copies and the row is one
// stretch of memory, these bring it; else the first walk stores what it has loaded or computed.
#include <algorithm>
#include <bit>
#include <limits>

#include "codegen/access.h"
#include "codegen/staging.h"
#include "codegen/team.h"

namespace sinter::codegen {
namespace {

constexpr int largest_registers_team = 512, most_register_elements = 32;
constexpr std::int64_t most_block_elements = 32768;  // of one block, if a cluster can share them
constexpr std::int64_t least_part_elements = 2048;   // of a block in a cluster
constexpr int comfortable_bytes = 72 << 10;          // three blocks to a multiprocessor
constexpr int bytes_of_system = 1 << 10;  // shared memory that every block takes beside what it asks for

/// What a block declares beside its row, at most: for exchanges, and the barriers of copies.
std::int64_t exchanged_bytes(const Kernel& k) {
  constexpr int places =
      2 * largest_registers_team / warp_threads + 16;  // of warps, and of blocks of a cluster
  std::int64_t bytes = 256;
  for (const KernelValue& v : k.values)
    if (v.kind == KernelValue::Kind::reduce) bytes += std::int64_t{2} * sizeof(double) * places;
  return bytes;
}

/// Of one element of a row.
std::int64_t kept_bytes(const Kernel& k, const std::vector<Crossing>& crossings) {
  std::int64_t bytes = 0;
  for (const Crossing& c : crossings) bytes += size_of(k.values[static_cast<std::size_t>(c.value)].dtype);
  return bytes;
}

/// Of what the threads load themselves, which no bulk copy brings or which is the same for every row: how
/// many tensors, and bytes of each element.
struct Direct {
  int tensors = 0, bytes = 0;
};

Direct loaded_directly(const Kernel& k, const Schedule& s) {
  const std::vector<bool> in_row = k.varies_in_row();
  Direct direct;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    if (k.values[v].kind == KernelValue::Kind::load && in_row[v] &&
        std::ranges::find(s.bulk_loads, static_cast<int>(v)) == s.bulk_loads.end())
      direct = {direct.tensors + 1, direct.bytes + size_of(k.values[v].dtype)};
  return direct;
}

/// Vectors that a thread takes at once: several, where it loads some itself, or blocks of a cluster rescale
/// sums after them.
int chunks_for(const Schedule& s, int direct_bytes, int cluster) {
  if (direct_bytes == 0 && (cluster == 1 || s.joined.empty())) return 1;
  const int elements = cluster == 1 && s.least_blocks > 1 ? 8 : 16;
  const int chunks = std::clamp(elements / s.vector, cluster > 1 ? 4 : 2, 8);
  constexpr int most_bytes = 64;  // of registers: with more, fewer blocks fit a multiprocessor
  if (cluster == 1 || direct_bytes == 0) return chunks;
  return std::clamp(most_bytes / (direct_bytes * s.vector), 1, chunks);
}

/// Blocks that share a row; 0 where it has no room. A few rows are spread over more blocks.
int cluster_for(const Kernel& k, const DeviceDescription& device, std::int64_t bytes, std::int64_t room) {
  const std::int64_t length = k.row_length().value();
  const auto part_bytes = [&](int cluster) { return part_of_block(length, cluster) * bytes; };
  int cluster = 1;
  if (length > most_block_elements || part_bytes(1) > room)
    while (cluster < device.cluster_blocks && part_bytes(cluster) > comfortable_bytes) cluster *= 2;
  if (part_bytes(cluster) > room) return 0;
  const ir::Dim rows = k.rows();
  while (rows.is_constant() && 2 * cluster * rows.value() <= device.processors &&
         cluster < device.cluster_blocks && length / (std::int64_t{2} * cluster) >= least_part_elements)
    cluster *= 2;
  return cluster;
}

/// Those that fit the registers of a few threads only if `also_short`.
std::optional<Schedule> shared_rows(const Kernel& k, const DeviceDescription& device, std::string& why,
                                    bool also_short) {
  const int inner = k.innermost(true);
  if (k.fixed_fold_order || k.folds_across() || inner < 0 || !k.row_length().is_constant()) {
    why = k.fixed_fold_order ? "shared rows: the order of folds is fixed"
          : k.folds_across() ? "shared rows: something is folded across rows, too"
                             : "shared rows: the length of rows is not known";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "shared rows";
  s.vector = vector_elements(k, inner, device.vector_bytes);
  const std::int64_t length = k.row_length().value();
  const Team held = team_for(length, s.vector, register_bytes(k), 2 * largest_registers_team);
  const bool fits = held.whole && held.threads <= largest_registers_team &&
                    held.chunks * s.vector <= most_register_elements;
  if (!also_short && (fits || team_of_few(k, s.vector).whole || team_of_terms(k, s.vector).whole)) {
    why = "shared rows: rows fit the registers of a few threads";
    return std::nullopt;
  }
  s.crossings = shared_crossings(k, {});
  if (s.crossings.empty()) {
    why = "shared rows: nothing of a row is read twice";
    return std::nullopt;
  }
  const std::int64_t bytes = kept_bytes(k, s.crossings);
  const std::int64_t own = exchanged_bytes(k) + std::int64_t{128} * std::ssize(s.crossings);
  const int cluster = cluster_for(k, device, bytes, device.shared_bytes_per_block - own);
  if (cluster == 0) {
    why = "shared rows: rows are too long for the shared memory of a block, or of a cluster";
    return std::nullopt;
  }
  // An exchange costs more than the steps that spare one.
  const std::vector<int> joined = joinable(k);
  const std::vector<Crossing> crossings = shared_crossings(k, joined);
  if (cluster > 1 && crossings.empty()) {
    why = "shared rows: what belongs together is folded in one walk, and nothing of a row is read twice";
    return std::nullopt;
  }
  if (!crossings.empty() && kept_bytes(k, crossings) <= bytes) {
    s.joined = joined;
    s.crossings = crossings;
  }
  const std::int64_t part = part_of_block(length, cluster);
  const std::int64_t at_once =  // blocks whose rows fit a multiprocessor
      std::max<std::int64_t>(
          1, (device.shared_bytes_per_block + bytes_of_system) / (part * bytes + own + bytes_of_system));
  if (device.bulk_copies)
    for (const Crossing& c : s.crossings)
      if (copies_in_bulk(k, c.value, inner)) s.bulk_loads.push_back(c.value);
  // A block that is alone on its multiprocessor has as many threads as there can be; what comes next is
  // fetched meanwhile. Where copies bring all that is kept, two blocks of so many are better than three or
  // four smaller ones, whose rows would be more than need be on their way at once, if registers last.
  const Direct direct = loaded_directly(k, s);
  const bool copied = cluster == 1 && s.bulk_loads.size() == s.crossings.size() && direct.tensors < 2;
  const auto wanted = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(part / (std::int64_t{4} * s.vector), std::int64_t{4} * warp_threads,
                               copied ? device.block_threads : largest_registers_team));
  s.block_threads = at_once == 1 ? device.block_threads : static_cast<int>(std::bit_ceil(wanted));
  if (at_once > 1 && s.block_threads > largest_registers_team) s.least_blocks = 2;
  const int threads = s.block_threads;
  if (!s.bulk_loads.empty() && (cluster > 1 || at_once == 1)) {
    const std::int64_t ahead = std::max<std::int64_t>(1, at_once * device.processors / (4 * cluster));
    if (k.rows().is_constant() && k.rows().value() > ahead) s.rows_ahead = static_cast<int>(ahead);
  }
  // Blocks of a cluster wait for each other: registers must not keep others out meanwhile.
  constexpr int enough_registers = 40;  // of a thread
  if (cluster > 1 && at_once > 1 && device.registers_per_processor / (at_once * threads) >= enough_registers)
    s.least_blocks = static_cast<int>(at_once);
  const int chunks = chunks_for(s, direct.bytes, cluster);
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  if (cluster > 1) along.insert(along.begin(), {Level::cluster, cluster});
  take_in_vectors(along, chunks, threads, s.vector);
  return s;
}

}  // namespace

std::optional<Schedule> choose_shared_rows(const Kernel& k, const DeviceDescription& device,
                                           std::string& why) {
  return shared_rows(k, device, why, false);
}

std::optional<Schedule> rows_in_shared_memory(const Kernel& k, const DeviceDescription& device) {
  std::string why;
  return shared_rows(k, device, why, true);
}

}  // namespace sinter::codegen
