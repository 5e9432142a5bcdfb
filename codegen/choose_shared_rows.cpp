// Rows on a GPU that are too long for a team's registers and read more than once: a block keeps a row in
// shared memory, or a cluster of blocks a part each; the longest, and those of devices without clusters, are
// in pieces that blocks take one after the other as they start. Where the device has bulk copies and the row
// is one stretch of memory, these bring it; else the first walk stores what it has loaded or computed.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/access.h"
#include "codegen/cache_policy.h"
#include "codegen/row_sharing.h"
#include "codegen/staging.h"
#include "codegen/team.h"
#include "codegen/vary_rows.h"

namespace sinter::codegen {
namespace {

constexpr int most_register_elements = 32;

/// Registers of a thread for what it folds; those of a few folds are among the ones that any kernel needs.
constexpr int few_states = 8;
int state_registers(const Kernel& k) {
  constexpr int register_size = 4;
  int registers = 0;
  for (const KernelValue& v : k.values)
    if (v.kind == KernelValue::Kind::reduce)
      registers += (state_bytes(k, v) + register_size - 1) / register_size;
  return registers;
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

constexpr int narrow_vector = 8;    // elements of 16 bits
constexpr int most_threads = 2048;  // of a multiprocessor
constexpr int few_threads = 1536;   // with more, they have 32 registers each

/// Vectors that a thread takes at once: several, where it loads some itself, or blocks that share a row
/// rescale sums after them. Of wide elements fewer registers are left.
int chunks_for(const Schedule& s, const Direct& direct, const RowSharing& sharing,
               const DeviceDescription& device) {
  const int blocks = sharing.blocks(), direct_bytes = direct.bytes;
  if (direct_bytes == 0 && (blocks == 1 || s.joined.empty())) return 1;
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

/// A schedule of rows in shared memory, made step by step.
class SharedRows {
 public:
  SharedRows(const Kernel& k, const DeviceDescription& device, RowVectors vectors)
      : k_(k),
        device_(device),
        inner_(k.innermost(true)),
        vectors_(std::move(vectors)),
        length_(places_in_lines(vectors_)),
        beside_(same_for_rows(k)) {
    s_.chooser = "shared rows";
    s_.vector = vectors_.elements;
    s_.skewed = vectors_.skewed;
    s_.crossings = shared_crossings(k, {});
  }

  /// Whether the registers of a few threads hold a row as well.
  bool registers_do() const {
    const Team held = team_for(vectors_, register_bytes(k_), 2 * largest_registers_team);
    const bool fits = held.whole && held.threads <= largest_registers_team &&
                      held.chunks * s_.vector <= most_register_elements;
    // Loads of two accesses each need registers that a row in shared memory leaves free, as do those of
    // several vectors that are the same for all rows, if threads hold too little of them to keep the memory
    // busy.
    constexpr int most_shifting = 224, most_crowding = 192, crowding = 2, enough_bytes = 64;
    const bool holds_little = held.chunks * s_.vector * kept_bytes(k_, s_.crossings) < enough_bytes;
    const bool roomier =
        device_.bulk_copies && ((vectors_.spare > 0 && held.threads > most_shifting) ||
                                (beside_ >= crowding && holds_little && held.threads > most_crowding));
    // What is folded in one walk is exchanged once, where registers are walked over twice.
    return !roomier && (fits || (joinable(k_).empty() && team_of_few(k_, vectors_).whole));
  }

  /// What is kept of a row, and by which blocks; the reason why that is nothing.
  std::string keep() {
    if (s_.crossings.empty()) return "nothing of a row is read twice";
    const std::int64_t bytes = kept_bytes(k_, s_.crossings);
    own_ = exchanged_bytes(k_) + std::int64_t{128} * std::ssize(s_.crossings);
    const std::optional<RowSharing> sharing =
        sharing_for(k_, device_, s_.crossings, device_.shared_bytes_per_block - own_, vectors_);
    if (!sharing) return "rows are too long for the shared memory of the blocks that can share one";
    sharing_ = *sharing;
    // An exchange costs more than the steps that spare one, and by messages more than all.
    const std::vector<int> joined = joinable(k_, sharing_.pieces > 1);
    const std::vector<Crossing> crossings = shared_crossings(k_, joined);
    if (crossings.empty() && (sharing_.blocks() > 1 || 2 * length_ * bytes > device_.shared_bytes_per_block))
      return "what belongs together is folded in one walk, and nothing of a row is read twice";
    if (!crossings.empty() && kept_bytes(k_, crossings) <= bytes) {
      s_.joined = joined;
      s_.crossings = crossings;
    }
    part_ = part_of_block(length_, sharing_.blocks());
    part_bytes_ = part_ * bytes;
    return {};
  }

  Schedule divide() {
    if (device_.bulk_copies)
      for (const Crossing& c : s_.crossings)
        if (copies_in_bulk(k_, c.value, vectors_)) s_.bulk_loads.push_back(c.value);
    direct_ = loaded_directly(k_, s_, vectors_);
    direct_.in_order = loads_outlast_stores(k_, s_, device_);
    set_threads();
    // Shifted loads of whole registers come late: those of the next vector are asked for before the row has
    // come, and while the one before is computed. Where a block has a row and one such tensor, several
    // vectors at once do as well, and where few blocks fit they do better.
    s_.loads_ahead = direct_.shifted && direct_.tensors == beside_ && s_.vector < narrow_vector &&
                     (sharing_.blocks() > 1 ? s_.least_blocks > few_blocks : direct_.tensors > 1);
    const int chunks = s_.loads_ahead ? 1 : chunks_for(s_, direct_, sharing_, device_);
    for (const KernelAxis& a : k_.axes) s_.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
    std::vector<Factor>& along = s_.axes[static_cast<std::size_t>(inner_)];
    if (sharing_.cluster > 1) along.insert(along.begin(), {Level::cluster, sharing_.cluster});
    if (sharing_.pieces > 1) along.insert(along.begin(), {Level::grid, sharing_.pieces});
    take_in_vectors(along, chunks, s_.block_threads, s_.vector);
    return std::move(s_);
  }

 private:
  /// A block that is alone on its multiprocessor has as many threads as there can be; what comes next is
  /// fetched meanwhile. Where copies bring all that is kept, two blocks of so many are better than three or
  /// four smaller ones, whose rows would be more than need be on their way at once, if registers last.
  void set_threads() {
    const int blocks = sharing_.blocks();
    const std::int64_t at_once = std::max<std::int64_t>(1, blocks_at_once(device_, part_bytes_ + own_));
    const int vectors_of_thread = direct_.shifted ? 2 + 2 * direct_.tensors : 4;
    const auto wanted = std::clamp<std::int64_t>(part_ / (std::int64_t{vectors_of_thread} * s_.vector),
                                                 std::int64_t{4} * warp_threads, largest_registers_team);
    s_.block_threads = at_once == 1                     ? device_.block_threads
                       : blocks == 1 && direct_.shifted ? static_cast<int>(whole_warps(wanted))
                       : blocks > 1 && at_once > few_blocks && (direct_.tensors == 0 || !s_.joined.empty())
                           ? few_threads / (few_blocks + 1)
                           : static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
    const bool copied = blocks == 1 && s_.bulk_loads.size() == s_.crossings.size() &&
                        (direct_.tensors < 2 || (!direct_.shifted && direct_.tensors == beside_));
    if (at_once > 1 && copied) {
      const Company company = company_for(part_bytes_, length_ / s_.vector, at_once, direct_, s_.skewed);
      s_.block_threads = std::min(company.threads, device_.block_threads);
      s_.least_blocks = company.blocks;
    }
    if (!s_.bulk_loads.empty() && (blocks > 1 || at_once == 1)) {
      const std::int64_t ahead = std::max<std::int64_t>(1, at_once * device_.processors / (4 * blocks));
      if (k_.rows().is_constant() && k_.rows().value() > ahead) s_.rows_ahead = static_cast<int>(ahead);
    }
    // Blocks that share a row wait for each other: registers must not keep others out meanwhile.
    const int thread_registers = (direct_.shifted ? 32 : 40) + std::max(0, state_registers(k_) - few_states);
    const std::int64_t held = std::min({at_once, std::int64_t{most_threads} / s_.block_threads,
                                        std::int64_t{device_.registers_per_processor} /
                                            (std::int64_t{thread_registers} * s_.block_threads)});
    if (blocks > 1 && held > 1) s_.least_blocks = static_cast<int>(held);
  }

  const Kernel& k_;
  const DeviceDescription& device_;
  const int inner_;
  const RowVectors vectors_;
  const std::int64_t length_;  // of a row, in lines
  const int beside_;           // vectors that are the same for all rows
  Schedule s_;
  RowSharing sharing_;
  Direct direct_;
  std::int64_t own_ = 0, part_ = 0,
               part_bytes_ = 0;  // of a block: what it declares, and what it has of a row
};

/// Those that fit the registers of a few threads only if `also_short`.
std::optional<Schedule> shared_rows(const Kernel& k, const DeviceDescription& device, std::string& why,
                                    bool also_short) {
  const auto refuse = [&](std::string_view reason) {
    why = fmt::format("shared rows: {}", reason);
    return std::nullopt;
  };
  const int inner = k.innermost(true);
  if (k.fixed_fold_order) return refuse("the order of folds is fixed");
  if (k.folds_across()) return refuse("something is folded across rows, too");
  if (inner < 0 || !k.row_length().is_constant()) return refuse("the length of rows is not known");
  SharedRows rows(k, device, row_vectors(k, inner, device.vector_bytes));
  if (!also_short && rows.registers_do()) return refuse("rows fit the registers of a few threads");
  if (const std::string reason = rows.keep(); !reason.empty()) return refuse(reason);
  return rows.divide();
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
        if (copies_in_bulk(k_, c.value, vectors_)) s.bulk_loads.push_back(c.value);
    } else {
      s.bulk_loads.clear();
      s.rows_ahead = 0;
      s.least_blocks = 0;  // loads by the threads take registers
      set_team(s, team_, std::clamp(16 / s.vector, 2, 8));
    }
    add(std::move(s));
  }

  void shared_by(Level level, int blocks) {
    constexpr std::int64_t least_part = 2048;  // elements: no block is left without any
    const std::int64_t other_shared = std::max<std::int64_t>(8 << 10, bytes_of_system + exchanged_bytes(k_));
    const std::int64_t length = places_in_lines(vectors_);
    const std::int64_t bytes = kept_bytes(k_, chosen_.crossings);
    const bool cluster = level == Level::cluster;
    const int most = cluster ? device_.cluster_blocks : warp_threads;
    if (blocks > most || (cluster && !std::has_single_bit(static_cast<unsigned>(blocks))) ||
        length / blocks < least_part || chosen_.joined != joinable(k_, !cluster) ||
        part_of_block(length, blocks) * bytes + other_shared > device_.shared_bytes_per_block ||
        part_of_block(length, blocks) * (blocks - 1) >= least_span(vectors_))
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
