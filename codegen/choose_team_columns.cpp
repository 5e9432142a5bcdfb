// Kernels on a GPU that fold outer axes while memory runs along a kept innermost one. Lanes take vectors of
// neighbouring columns, so that each of their loads is one wide stretch of memory; the other threads of a
// block take other elements of the same columns. Where columns are few, a warp spans several elements of
// each; where they are short, a block spans more columns. Columns that are walked once are split over blocks
// where there are fewer tiles of them than keep all processors busy.
#include <algorithm>
#include <bit>

#include "codegen/access.h"
#include "codegen/fit_registers.h"
#include "codegen/staging.h"
#include "codegen/team.h"
#include "codegen/vary.h"

namespace sinter::codegen {
namespace {

constexpr int most_shared = 48 << 10;  // bytes that a kernel may declare

struct Shape {
  int lanes = warp_threads;  // side by side, each with a vector of columns
  int slots = 8;             // threads that share a column
  int chunks = 8;            // elements that a thread takes of it at once
  bool whole = false;
};

/// What a thread holds for each column, in bytes: the states of one walk, and of all that share memory.
struct StateBytes {
  int of_walk = 0, of_all = 0;
  bool sums = false, places = false;
};

StateBytes state_bytes(const Kernel& k, const Staging& staging) {
  StateBytes bytes;
  for (const Walk& w : staging.walks) {
    int walk = 0;
    for (int v : w.folds) {
      const KernelValue& x = k.values[static_cast<std::size_t>(v)];
      const DType t = k.values[static_cast<std::size_t>(x.operands[0])].dtype;
      walk += std::max(4, size_of(t)) + (x.finds_place() ? 8 : 0);
      bytes.sums |= x.op == ir::Op::sum && is_float(t);
      bytes.places |= x.finds_place();
    }
    bytes.of_walk = std::max(bytes.of_walk, walk);
    bytes.of_all += walk;
  }
  return bytes;
}

/// Bytes of an element in memory, of the tensor that has the smallest.
int narrowest_load(const Kernel& k) {
  int bytes = 8;
  for (const KernelValue& v : k.values)
    if (v.kind == KernelValue::Kind::load) bytes = std::min(bytes, size_of(v.dtype));
  return bytes;
}

std::int64_t known(const ir::Dim& d, std::int64_t otherwise) {
  return d.is_constant() ? d.value() : otherwise;
}

std::int64_t divided(std::int64_t n, std::int64_t by) {
  return (n + by - 1) / by;
}

int power_above(std::int64_t n) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

/// Lanes and slots for columns that are walked once.
Shape for_one_walk(std::int64_t length, std::int64_t vectors, int lanes, int chunks, int threads) {
  Shape s{lanes, threads / lanes, chunks};
  const std::int64_t wanted = divided(length, chunks);
  if (wanted > s.slots) return s;
  s.whole = true;
  s.slots = power_above(wanted);
  s.lanes = std::min(threads / s.slots, std::max({lanes, power_above(vectors), warp_threads / s.slots}));
  s.chunks = static_cast<int>(std::max<std::int64_t>(1, divided(length, s.slots)));
  return s;
}

/// The same for columns that are walked again: kept in registers if they fit those of a block, for columns as
/// wide as a stretch of memory should be, or half that or a quarter.
Shape for_several_walks(const Kernel& k, std::int64_t length, std::int64_t vectors, int lanes, int vector,
                        int chunks, int processors) {
  constexpr int least_bytes = 32;  // of a stretch
  const int bytes = register_bytes(k);
  const int soon = std::max(1, most_unrolled / (vector * std::max(1, instructions_of_element(k))));
  const auto wide = [&](int l) { return l * vector * bytes; };
  for (int l = lanes; l >= 1 && (l == lanes || wide(l) >= least_bytes); l /= 2)
    for (int threads : {256, 512, 1024}) {
      const int slots = threads / l, most = std::min(most_register_bytes(threads) / (vector * bytes), soon);
      if (length > std::int64_t{slots} * most) continue;
      Shape s{l, power_above(divided(length, std::min(most, 8))), 1, true};
      s.slots = std::min(s.slots, slots);
      s.lanes =
          std::min(std::max(256, threads) / s.slots,
                   std::max({l, warp_threads / s.slots, std::min(power_above(vectors), 256 / s.slots)}));
      s.chunks = static_cast<int>(std::max<std::int64_t>(1, divided(length, s.slots)));
      return s;
    }
  // Read again from memory, in tiles so narrow that all processors have some.
  int l = lanes;
  while (l > 1 && wide(l / 2) >= least_bytes && divided(vectors, l) < 2 * processors) l /= 2;
  return {l, 512 / l, std::min(chunks, 8)};
}

}  // namespace

std::optional<Schedule> choose_team_columns(const Kernel& k, const DeviceDescription& device,
                                            std::string& why) {
  constexpr int most_state_registers = 64;  // of a thread
  constexpr int processor_threads = 2048;   // that a processor should have
  if (k.fixed_fold_order) {
    why = "team columns: the order of folds is fixed";
    return std::nullopt;
  }
  const int columns = static_cast<int>(k.axes.size()) - 1;
  if (k.axes.empty() || k.axes.back().reduced || !runs_along(k, columns)) {
    why = "team columns: memory does not run along a kept innermost axis";
    return std::nullopt;
  }
  const int inner = k.innermost(true);
  const Staging staging = stage(k, [](int) { return false; });
  const StateBytes states = state_bytes(k, staging);
  const bool one_walk = staging.walks.size() == 1;
  constexpr std::int64_t unknown = std::int64_t{1} << 40;
  const std::int64_t length = known(k.row_length(), unknown);

  Schedule s;
  s.chooser = "team columns";
  s.columns = true;
  s.vector = vector_elements(k, columns, device.vector_bytes);
  const auto state_registers = [&] { return s.vector * states.of_walk / 4 * (states.sums ? 2 : 1); };
  while (s.vector > 1 && state_registers() > most_state_registers) s.vector /= 2;
  // A thread with much to hold does better with more loads of its own than with more threads beside it.
  const bool heavy = states.places || (states.of_walk > 4 && state_registers() >= most_state_registers / 4);
  const int threads = heavy ? 256 : 512, chunk_bytes = heavy || one_walk ? 128 : 64;
  const int loaded = register_bytes(k) * s.vector;
  // What many folds compute from what is loaded needs registers, too.
  const int few = std::max(1, 128 / (s.vector * std::max(1, states.of_walk / 4)));
  const auto chunks_of = [&](int bytes) { return std::clamp(bytes / loaded, 1, std::min(16, few)); };
  const int chunks = chunks_of(chunk_bytes);
  const std::int64_t across = known(k.axes.back().extent, unknown) / s.vector;
  const std::int64_t vectors = std::max<std::int64_t>(1, known(k.rows(), unknown) / s.vector);
  const int lanes = std::min<int>(warp_threads, power_above(std::min<std::int64_t>(across, warp_threads)));
  // Narrow loads are many, and blocks that make them differ more in how fast they are.
  const int wanted_threads = (loaded < device.vector_bytes ? 2 : 1) * processor_threads;
  const std::int64_t blocks = std::int64_t{device.processors} * (wanted_threads / threads);
  Shape shape;
  if (one_walk) {
    constexpr int short_threads = 256;  // of columns that are taken whole
    shape = for_one_walk(length, vectors, lanes, chunks, short_threads);
    if (!shape.whole) shape = {lanes, threads / lanes, chunks};
  } else {
    shape = for_several_walks(k, length, vectors, lanes, s.vector, chunks, device.processors);
  }
  // Rather narrower tiles than that a tile's last block has to join what very many others have left.
  while (one_walk && !shape.whole && shape.lanes > 8 &&
         blocks / divided(vectors, shape.lanes) > std::int64_t{4} * shape.slots)
    shape = {shape.lanes / 2, shape.slots * 2, shape.chunks};
  // Few elements of each: of narrower columns the threads of a block take all in a few steps, and nothing is
  // left to be joined.
  constexpr int stretch_bytes = 128, few_steps = 3;
  const int narrowest = std::max(1, stretch_bytes / (s.vector * narrowest_load(k)));
  for (Shape narrow = shape; one_walk && !shape.whole && narrow.lanes > narrowest &&
                             divided(vectors, narrow.lanes) < device.processors;) {
    narrow = {narrow.lanes / 2, narrow.slots * 2, narrow.chunks};
    if (divided(length, std::int64_t{narrow.slots} * narrow.chunks) <= few_steps) shape = narrow;
  }
  const auto shared = [&] {
    const int group = std::max(shape.lanes, warp_threads), groups = shape.lanes * shape.slots / group;
    return groups > 1 ? groups * shape.lanes * s.vector * states.of_all : 0;
  };
  while (shape.slots > 1 && shared() > most_shared) {
    shape.slots /= 2;
    shape.chunks = std::min(shape.chunks, chunks);
    shape.whole = shape.whole && std::int64_t{shape.slots} * shape.chunks >= length;
  }
  if (shape.whole && !one_walk)
    s.crossings = register_crossings(k, {shape.lanes * shape.slots, shape.chunks, true}, s.vector);
  s.block_threads = shape.lanes * shape.slots;

  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::grid}});
  const auto add_threads = [](std::vector<Factor>& along, int count, int lanes_left) {
    const int in_warp = std::min(count, lanes_left);
    if (count > in_warp) along.push_back({Level::warp, count / in_warp});
    if (in_warp > 1) along.push_back({Level::lane, in_warp});
  };
  add_threads(s.axes.back(), shape.lanes, warp_threads);
  if (s.vector > 1) s.axes.back().push_back({Level::vector, s.vector});
  if (inner < 0) return s;
  std::vector<Factor>& along = s.axes[static_cast<std::size_t>(inner)];
  if (shape.whole) along.clear();
  const std::int64_t tiles = divided(vectors, shape.lanes);
  if (one_walk && !shape.whole && length != unknown && k.rows().is_constant() && tiles > 0) {
    const std::int64_t steps = divided(length, std::int64_t{shape.slots} * shape.chunks);
    const std::int64_t wanted = std::min(blocks / tiles, steps / 2);
    if (const int pieces = pieces_for(length, std::max<std::int64_t>(1, wanted), shape.slots); pieces > 1)
      along.insert(along.begin(), {Level::grid, pieces});
  }
  along.push_back({Level::loop, shape.chunks});
  add_threads(along, shape.slots, std::max(1, warp_threads / shape.lanes));
  return s;
}

namespace {

/// Variants of a schedule for columns.
class Varied {
 public:
  Varied(const Kernel& k, const Schedule& chosen) : k_(k), chosen_(chosen) {}

  std::vector<Schedule> run() {
    const std::vector<Factor>& along = chosen_.axes[static_cast<std::size_t>(inner_)];
    const bool whole = !is_looped(along);
    if (std::ranges::any_of(along, [](const Factor& f) { return f.level == Level::grid; })) {
      pieces(1, 2);
      pieces(2, 1);
    }
    slots(1, 2, whole);
    if (!whole) {
      chunks(1, 2);
      chunks(2, 1);
    }
    slots(2, 1, whole);
    if (chosen_.vector > 1) {
      Schedule s = chosen_;
      s.vector /= 2;
      sized(s.axes.back(), Level::vector)->size = s.vector;
      if (s.vector == 1) s.axes.back().pop_back();
      variants_.push_back(std::move(s));
    }
    return std::move(variants_);
  }

 private:
  std::vector<Factor>& folded_axis(Schedule& s) const { return s.axes[static_cast<std::size_t>(inner_)]; }

  int lanes() const {
    int lanes = 1;
    for (const Factor& f : chosen_.axes.back())
      if (f.level == Level::warp || f.level == Level::lane) lanes *= f.size;
    return lanes;
  }

  void pieces(int times, int by) {
    Schedule s = chosen_;
    Factor* const pieces = sized(folded_axis(s), Level::grid);
    const int slots = s.block_threads / lanes();
    pieces->size = pieces_for(k_.row_length().value(), std::max(1, pieces->size * times / by), slots);
    if (pieces->size > 1) variants_.push_back(std::move(s));
  }

  /// Other numbers of threads that share a column.
  void slots(int times, int by, bool whole) {
    Schedule s = chosen_;
    Factor* const warps = sized(folded_axis(s), Level::warp);
    if (!warps || warps->size * times / by < 1 || warps->size * times % by != 0) return;
    warps->size = warps->size * times / by;
    s.block_threads = s.block_threads * times / by;
    const int slots = s.block_threads / lanes();
    const int groups = s.block_threads / std::max(lanes(), warp_threads);
    const int states = state_bytes(k_, stage(k_, [](int) { return false; })).of_all;
    if (s.block_threads < least_threads_varied || groups * lanes() * s.vector * states > most_shared) return;
    const std::int64_t length = known(k_.row_length(), 0);
    if (whole) {
      Factor* const chunks = sized(folded_axis(s), Level::loop);
      const std::int64_t taken = std::max<std::int64_t>(1, divided(length, slots));
      if (!chunks || taken * s.vector * register_bytes(k_) > most_register_bytes(s.block_threads)) return;
      chunks->size = static_cast<int>(taken);
      if (!s.crossings.empty())
        s.crossings = register_crossings(k_, {s.block_threads, chunks->size, true}, s.vector);
    } else if (Factor* const pieces = sized(folded_axis(s), Level::grid)) {
      pieces->size = pieces_for(length, pieces->size, slots);
      if (pieces->size < 2) return;
    }
    variants_.push_back(std::move(s));
  }

  void chunks(int times, int by) {
    constexpr int most_bytes = 256;  // of registers
    Schedule s = chosen_;
    Factor* const chunks = sized(folded_axis(s), Level::loop);
    chunks->size = chunks->size * times / by;
    if (chunks->size >= 1 && chunks->size * s.vector * register_bytes(k_) <= most_bytes)
      variants_.push_back(std::move(s));
  }

  const Kernel& k_;
  const Schedule& chosen_;
  const int inner_ = k_.innermost(true);
  std::vector<Schedule> variants_;
};

}  // namespace

std::vector<Schedule> vary_team_columns(const Kernel& k, const DeviceDescription&, const Schedule& chosen) {
  return k.innermost(true) < 0 ? std::vector<Schedule>{} : Varied(k, chosen).run();
}

}  // namespace sinter::codegen
