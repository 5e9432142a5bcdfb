// Rows on a GPU that are too long for a team's registers and read more than once: a block keeps a row in
// shared memory, or a cluster of blocks a part each; the longest, and those of devices without clusters, are
// in pieces that blocks take one after the other as they start. Where the device has bulk copies and the row
// is one stretch of memory, these bring it; else the first walk stores what it has loaded or computed.
#include <algorithm>
#include <bit>
#include <limits>

#include "codegen/access.h"
#include "codegen/cache_policy.h"
#include "codegen/staging.h"
#include "codegen/team.h"
#include "codegen/vary_rows.h"

namespace sinter::codegen {
namespace {

constexpr int largest_registers_team = 512, most_register_elements = 32;
constexpr std::int64_t most_block_elements = 32768;  // of one block, if a cluster can share them
constexpr std::int64_t least_part_elements = 2048;   // of a block in a cluster
constexpr int portable_cluster = 8;
constexpr int comfortable_bytes = 72 << 10;  // three blocks to a multiprocessor
constexpr int crowded_bytes = 53 << 10;      // four
constexpr int bytes_of_system = 1 << 10;     // shared memory that every block takes beside what it asks for

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
  bool shifted = false;   // some by two accesses each
  bool in_order = false;  // each where it is written
  /// A compiler that may move them together needs more registers.
  bool crowd() const { return tensors > 1 && !in_order; }
};

Direct loaded_directly(const Kernel& k, const Schedule& s, const RowVectors& vectors) {
  const int inner = k.innermost(true);
  const std::vector<bool> in_row = k.varies_in_row();
  Direct direct;
  for (std::size_t v = 0; v < k.values.size(); ++v) {
    const KernelValue& x = k.values[v];
    if (x.kind != KernelValue::Kind::load || !in_row[v] ||
        std::ranges::find(s.bulk_loads, static_cast<int>(v)) != s.bulk_loads.end())
      continue;
    const bool shifted = x.address.factor(inner).is(1) && is_shifted(k, x.buffer, x.address, inner, vectors);
    ++direct.tensors;
    direct.bytes += size_of(x.dtype) * (shifted ? 2 : 1);
    direct.shifted = direct.shifted || shifted;
  }
  return direct;
}

/// How a row is shared: by the blocks of a cluster, or by blocks that take its pieces as they start.
struct Sharing {
  int cluster = 1, pieces = 1;
  int blocks() const { return cluster * pieces; }
};

constexpr int few_threads = 1536;  // of a multiprocessor: with more, they have 32 registers each

/// Vectors that a thread takes at once: several, where it loads some itself, or blocks that share a row
/// rescale sums after them. Of wide elements fewer registers are left.
int chunks_for(const Schedule& s, const Direct& direct, const Sharing& sharing,
               const DeviceDescription& device) {
  const int blocks = sharing.blocks(), direct_bytes = direct.bytes;
  if (direct_bytes == 0 && (blocks == 1 || s.joined.empty())) return 1;
  constexpr int narrow_vector = 8;
  const bool many = s.block_threads * s.least_blocks > few_threads;
  if (s.vector < narrow_vector && (many || (s.least_blocks > 1 && direct.crowd()))) return 1;
  const int elements = blocks == 1 && (s.least_blocks > 1 || direct.shifted) ? 8 : 16;
  const int chunks = std::clamp(elements / s.vector, blocks > 1 ? 4 : 2, 8);
  if (blocks == 1 && s.least_blocks <= 1) {              // alone on its multiprocessor
    constexpr int register_size = 4, other_bytes = 128;  // what is computed
    const int room = register_size * device.registers_per_processor / s.block_threads - other_bytes;
    return std::clamp(room / (direct_bytes * s.vector), 1, chunks);
  }
  if (blocks == 1 || direct_bytes == 0) return chunks;
  constexpr int most_chunks = 2, most_bytes = 64;  // of registers: with more, fewer blocks fit
  const int most_elements = direct.shifted && sharing.cluster > 1 ? 8 : 16;
  return std::clamp(most_bytes / (direct_bytes * s.vector), 1,
                    std::clamp(most_elements / s.vector, 1, most_chunks));
}

/// The number of pieces of a row; 0 where it has no room. Rather such that threads all have as much to do.
int pieces_of_row(std::int64_t length, std::int64_t bytes, std::int64_t room, std::int64_t step) {
  constexpr std::int64_t most = warp_threads;  // as many as a warp has lanes for messages
  const auto fitting = [&](std::int64_t part_bytes) {
    std::int64_t pieces = std::max<std::int64_t>(2, (length * bytes + part_bytes - 1) / part_bytes);
    while (pieces <= most && part_of_block(length, static_cast<int>(pieces)) * bytes > part_bytes) ++pieces;
    return pieces;
  };
  std::int64_t least = fitting(std::min<std::int64_t>(comfortable_bytes, room / 2));
  if (least > most) least = fitting(room);
  if (least > most) return 0;
  for (std::int64_t pieces = least; pieces <= std::min(most, least + least / 4); ++pieces)
    if (length % (pieces * step) == 0) return static_cast<int>(pieces);
  return static_cast<int>(least);
}

/// How many vectors along a row are loaded that are the same for all of them.
int same_for_rows(const Kernel& k) {
  const std::vector<bool> in_row = k.varies_in_row();
  int count = 0;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    count +=
        k.values[v].kind == KernelValue::Kind::load && in_row[v] && is_same_for_rows(k, static_cast<int>(v));
  return count;
}

/// How many loads of a row's elements there are of what is not kept.
int other_loads(const Kernel& k, const std::vector<Crossing>& crossings) {
  const std::vector<bool> in_row = k.varies_in_row();
  int others = 0;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    others += k.values[v].kind == KernelValue::Kind::load && in_row[v] &&
              std::ranges::find(crossings, static_cast<int>(v), &Crossing::value) == crossings.end();
  return others;
}

/// Whether copies bring all that is kept.
bool is_copied(const Kernel& k, const DeviceDescription& device, const std::vector<Crossing>& crossings,
               const RowVectors& vectors) {
  return device.bulk_copies && std::ranges::all_of(crossings, [&](const Crossing& c) {
           return copies_in_bulk(k, c.value, k.innermost(true), vectors);
         });
}

/// Whether blocks that tell each other by messages are faster than a cluster of 8. An exchange takes longer,
/// but it is one where the cluster may need two; and where threads load nothing but what copies have brought,
/// nothing else is late.
bool messages_do(const Kernel& k, const DeviceDescription& device, const std::vector<Crossing>& crossings,
                 const RowVectors& vectors) {
  return is_copied(k, device, crossings, vectors) &&
         (other_loads(k, crossings) == 0 || joinable(k, true).size() > joinable(k).size());
}

/// Nothing where a row has no room, or is better read again. A few rows are spread over more blocks.
std::optional<Sharing> sharing_for(const Kernel& k, const DeviceDescription& device,
                                   const std::vector<Crossing>& crossings, std::int64_t room,
                                   const RowVectors& vectors) {
  const std::int64_t bytes = kept_bytes(k, crossings);
  const std::int64_t length = places_in_lines(vectors);
  const ir::Dim rows = k.rows();
  const auto part_bytes = [&](int blocks) { return part_of_block(length, blocks) * bytes; };
  const auto spread = [&](int blocks, int most) {
    while (rows.is_constant() && 2 * blocks * rows.value() <= device.processors && 2 * blocks <= most &&
           length / (std::int64_t{2} * blocks) >= least_part_elements)
      blocks *= 2;
    return blocks;
  };
  int cluster = 1;
  // One block to a multiprocessor is worth it only if it has more to do than what copies bring.
  const int others = other_loads(k, crossings);
  const bool two_fit = part_bytes(1) <= room / 2 - bytes_of_system;
  const bool one_does = is_copied(k, device, crossings, vectors) && (two_fit ? others < 2 : others == 0)
                            ? two_fit
                            : length <= most_block_elements && part_bytes(1) <= room;
  const bool shifted = vectors.after > 0;
  if (!one_does) {
    while (cluster < device.cluster_blocks && part_bytes(cluster) > comfortable_bytes)
      cluster += cluster < portable_cluster ? 1 : cluster;
    // Loads of two accesses each take more threads to keep the memory busy.
    if (shifted)
      for (int more = cluster; more <= portable_cluster && more <= device.cluster_blocks; ++more)
        if (part_bytes(more) <= crowded_bytes) {
          cluster = more;
          break;
        }
  }
  const bool fits = part_bytes(cluster) <= room;
  // Large clusters leave processors idle. A shorter row is read again from the second cache.
  constexpr std::int64_t least_bytes = 384 << 10;
  const int largest = messages_do(k, device, crossings, vectors) ? 4 : 8;
  const bool comfortable = fits && (cluster == 1 || part_bytes(cluster) <= comfortable_bytes);
  if (length * bytes >= least_bytes && (cluster > largest || !comfortable)) {
    const int least =
        pieces_of_row(length, bytes, room, std::int64_t{largest_registers_team} * vectors.elements);
    const int pieces = least == 0 ? 0 : spread(least, warp_threads);
    const bool busy = !rows.is_constant() || 2 * pieces * rows.value() >= device.processors;
    if (pieces != 0 && (busy || fits)) return Sharing{1, pieces};
  }
  if (!fits) return std::nullopt;
  return Sharing{spread(cluster, device.cluster_blocks), 1};
}

/// Threads of a block that has a row to itself, and how many such blocks a multiprocessor has: enough rows on
/// their way to keep the memory busy, and all threads that there can be.
struct Company {
  int threads = 1024, blocks = 1;
};

Company company_for(std::int64_t row_bytes, std::int64_t vectors, std::int64_t most_blocks,
                    const Direct& direct, bool skewed) {
  const std::int64_t enough_bytes = skewed && !direct.shifted ? 160 << 10 : 128 << 10;
  constexpr std::int64_t least_threads = 128;
  constexpr std::int64_t most_threads = 2048, few_blocks = 3;
  const std::int64_t wanted = (enough_bytes + row_bytes - 1) / row_bytes;
  const bool roomy = direct.shifted || direct.crowd() || (direct.tensors > 1 && wanted <= few_blocks);
  const std::int64_t processor_threads = roomy ? few_threads : most_threads;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(wanted, 2, std::min(most_blocks, processor_threads / least_threads));
  const std::int64_t most = processor_threads / blocks / warp_threads * warp_threads;
  const std::int64_t steps = (vectors + most - 1) / most;
  const std::int64_t warps = ((vectors + steps - 1) / steps + warp_threads - 1) / warp_threads;
  if (!direct.shifted) return {static_cast<int>(warps * warp_threads), static_cast<int>(blocks)};
  constexpr std::int64_t steps_at_most = 4, most_warps = 16;
  const std::int64_t more = std::clamp((vectors / steps_at_most + warp_threads - 1) / warp_threads, warps,
                                       std::max(warps, most_warps));
  return {static_cast<int>(more * warp_threads), static_cast<int>(processor_threads / (more * warp_threads))};
}

/// Those that fit the registers of a few threads only if `also_short`.
std::optional<Schedule> shared_rows(const Kernel& k, const DeviceDescription& device, std::string& why,
                                    bool also_short, bool may_be_skewed = true) {
  const int inner = k.innermost(true);
  if (k.fixed_fold_order || k.folds_across() || inner < 0 || !k.row_length().is_constant()) {
    why = k.fixed_fold_order ? "shared rows: the order of folds is fixed"
          : k.folds_across() ? "shared rows: something is folded across rows, too"
                             : "shared rows: the length of rows is not known";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "shared rows";
  RowVectors vectors = row_vectors(k, inner, device.vector_bytes);
  if (!may_be_skewed)
    vectors = row_vectors_of(k, inner, vector_elements(k, inner, device.vector_bytes), false);
  s.vector = vectors.elements;
  s.skewed = vectors.skewed;
  const std::int64_t length = places_in_lines(vectors);
  const Team held = team_for(vectors, register_bytes(k), 2 * largest_registers_team);
  const bool fits = held.whole && held.threads <= largest_registers_team &&
                    held.chunks * s.vector <= most_register_elements;
  // Loads of two accesses each need registers that a row in shared memory leaves free, as do those of several
  // vectors that are the same for all rows.
  constexpr int most_shifting = 224, most_crowding = 96, crowding = 2;
  const bool roomier = device.bulk_copies && ((vectors.after > 0 && held.threads > most_shifting) ||
                                              (same_for_rows(k) >= crowding && held.threads > most_crowding));
  if (!also_short && !roomier && (fits || team_of_few(k, vectors).whole || team_of_terms(k, vectors).whole)) {
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
  const std::optional<Sharing> sharing =
      sharing_for(k, device, s.crossings, device.shared_bytes_per_block - own, vectors);
  if (!sharing) {
    why = "shared rows: rows are too long for the shared memory of the blocks that can share one";
    return std::nullopt;
  }
  // An exchange costs more than the steps that spare one, and by messages more than all.
  const int blocks = sharing->blocks();
  const std::vector<int> joined = joinable(k, sharing->pieces > 1);
  const std::vector<Crossing> crossings = shared_crossings(k, joined);
  if (crossings.empty() && (blocks > 1 || 2 * length * bytes > device.shared_bytes_per_block)) {
    why = "shared rows: what belongs together is folded in one walk, and nothing of a row is read twice";
    return std::nullopt;
  }
  if (!crossings.empty() && kept_bytes(k, crossings) <= bytes) {
    s.joined = joined;
    s.crossings = crossings;
  }
  const std::int64_t part = part_of_block(length, blocks);
  if (s.skewed && vectors.span.value() - s.vector <= (blocks - 1) * part)  // some rows have a vector less
    return shared_rows(k, device, why, also_short, false);
  const std::int64_t at_once =  // blocks whose rows fit a multiprocessor
      std::max<std::int64_t>(
          1, (device.shared_bytes_per_block + bytes_of_system) / (part * bytes + own + bytes_of_system));
  if (device.bulk_copies)
    for (const Crossing& c : s.crossings)
      if (copies_in_bulk(k, c.value, inner, vectors)) s.bulk_loads.push_back(c.value);
  // A block that is alone on its multiprocessor has as many threads as there can be; what comes next is
  // fetched meanwhile. Where copies bring all that is kept, two blocks of so many are better than three or
  // four smaller ones, whose rows would be more than need be on their way at once, if registers last.
  Direct direct = loaded_directly(k, s, vectors);
  direct.in_order = loads_outlast_stores(k, s, device);
  const bool copied = blocks == 1 && s.bulk_loads.size() == s.crossings.size() &&
                      (direct.tensors < 2 || (!direct.shifted && direct.tensors == same_for_rows(k)));
  const int vectors_of_thread = direct.shifted ? 2 + 2 * direct.tensors : 4;
  const auto wanted = std::clamp<std::int64_t>(part / (std::int64_t{vectors_of_thread} * s.vector),
                                               std::int64_t{4} * warp_threads, largest_registers_team);
  s.block_threads = at_once == 1 ? device.block_threads
                    : blocks == 1 && direct.shifted
                        ? static_cast<int>((wanted + warp_threads - 1) / warp_threads * warp_threads)
                        : static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
  if (at_once > 1 && copied) {
    const Company company = company_for(part * bytes, length / s.vector, at_once, direct, s.skewed);
    s.block_threads = std::min(company.threads, device.block_threads);
    s.least_blocks = company.blocks;
  }
  const int threads = s.block_threads;
  if (!s.bulk_loads.empty() && (blocks > 1 || at_once == 1)) {
    const std::int64_t ahead = std::max<std::int64_t>(1, at_once * device.processors / (4 * blocks));
    if (k.rows().is_constant() && k.rows().value() > ahead) s.rows_ahead = static_cast<int>(ahead);
  }
  // Blocks that share a row wait for each other: registers must not keep others out meanwhile.
  const int enough_registers = direct.shifted ? 32 : 40;  // of a thread
  if (blocks > 1 && at_once > 1 && device.registers_per_processor / (at_once * threads) >= enough_registers)
    s.least_blocks = static_cast<int>(at_once);
  const int chunks = chunks_for(s, direct, *sharing, device);
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  if (sharing->cluster > 1) along.insert(along.begin(), {Level::cluster, sharing->cluster});
  if (sharing->pieces > 1) along.insert(along.begin(), {Level::grid, sharing->pieces});
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

namespace {

class Varied : public RowVariants {
 public:
  using RowVariants::RowVariants;

  std::vector<Schedule> run() {
    // A row is shared by the blocks of a cluster, or by blocks of the grid that take its pieces.
    const Factor *const cluster = sized(chosen_row_axis(), Level::cluster), *const pieces =
                                                                                sized(chosen_row_axis(),
                                                                                      Level::grid);
    const Level level = pieces ? Level::grid : Level::cluster;
    const int blocks = pieces ? pieces->size : cluster ? cluster->size : 1;
    const auto with_threads = [&](int threads) {
      Schedule s = chosen_;
      set_team(s, threads, chunks_);
      s.block_threads = threads;
      s.least_blocks = chosen_.least_blocks * team_ / std::max(threads, 1);
      if (threads >= least_threads_varied) add(std::move(s));
    };
    if (blocks > 1) shared_by(pieces ? Level::cluster : Level::grid, blocks);
    if (team_ / 2 % warp_threads == 0) with_threads(team_ / 2);
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
    return std::move(variants_);
  }

 private:
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
};

}  // namespace

std::vector<Schedule> vary_shared_rows(const Kernel& k, const DeviceDescription& device,
                                       const Schedule& chosen) {
  return RowVariants::can_vary(k) ? Varied(k, device, chosen).run() : std::vector<Schedule>{};
}

}  // namespace sinter::codegen
