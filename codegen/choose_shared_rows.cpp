// Rows on a GPU that are too long for a team's registers and read more than once: a block keeps a row in
// shared memory, or a cluster of blocks a part each; the longest, and those of devices without clusters, are
// in pieces that blocks take one after the other as they start. Where the device has bulk copies and the row
// is one stretch of memory, these bring it; else the first walk stores what it has loaded or computed.
#include <algorithm>
#include <bit>

#include "codegen/access.h"
#include "codegen/cache_policy.h"
#include "codegen/row_sharing.h"
#include "codegen/staging.h"
#include "codegen/team.h"
#include "codegen/vary_rows.h"

namespace sinter::codegen {
namespace {

constexpr int most_register_elements = 32;

/// What a block declares beside its row, at most: for exchanges, and the barriers of copies.
std::int64_t exchanged_bytes(const Kernel& k) {
  constexpr int places =
      2 * largest_registers_team / warp_threads + 16;  // of warps, and of blocks of a cluster
  std::int64_t bytes = 256;
  for (const KernelValue& v : k.values)
    if (v.kind == KernelValue::Kind::reduce) bytes += std::int64_t{2} * sizeof(double) * places;
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

constexpr int few_threads = 1536;  // of a multiprocessor: with more, they have 32 registers each

/// Vectors that a thread takes at once: several, where it loads some itself, or blocks that share a row
/// rescale sums after them. Of wide elements fewer registers are left.
int chunks_for(const Schedule& s, const Direct& direct, const RowSharing& sharing,
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

/// How many vectors along a row are loaded that are the same for all of them.
int same_for_rows(const Kernel& k) {
  const std::vector<bool> in_row = k.varies_in_row();
  int count = 0;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    count +=
        k.values[v].kind == KernelValue::Kind::load && in_row[v] && is_same_for_rows(k, static_cast<int>(v));
  return count;
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
  // vectors that are the same for all rows, if threads hold too little of them to keep the memory busy.
  const int beside = same_for_rows(k);
  constexpr int most_shifting = 224, most_crowding = 192, crowding = 2, enough_bytes = 64;
  const bool holds_little = held.chunks * s.vector * kept_bytes(k, shared_crossings(k, {})) < enough_bytes;
  const bool roomier =
      device.bulk_copies && ((vectors.spare > 0 && held.threads > most_shifting) ||
                             (beside >= crowding && holds_little && held.threads > most_crowding));
  // What is folded in one walk is exchanged once, where registers are walked over twice.
  const bool few_hold_it = joinable(k).empty() && team_of_few(k, vectors).whole;
  if (!also_short && !roomier && (fits || few_hold_it)) {
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
  const std::optional<RowSharing> sharing =
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
                      (direct.tensors < 2 || (!direct.shifted && direct.tensors == beside));
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
    const std::int64_t bytes = kept_bytes(k_, chosen_.crossings);
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
