// Kernels without reductions: every element by itself, the innermost axis in vectors as wide as each access
// allows. On the CPU a tensor along which memory runs across the innermost axis is read in tiles, so that the
// lines of memory that one row of a tile touches serve its other rows, too. Elements of up to two bytes are
// turned there beforehand: gathered one by one they would cost more than the memory that they lie in.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/vary.h"

namespace sinter::codegen {
namespace {

/// The axis along which memory of a tensor runs that has gaps along the innermost one, or -1.
int axis_across(const Kernel& k) {
  const int innermost = static_cast<int>(k.axes.size()) - 1;
  for (const KernelValue& v : k.values) {
    if (v.kind != KernelValue::Kind::load) continue;
    const ir::Dim gap = v.address.factor(innermost);
    if (gap.is(0) || gap.is(1) || gap.is(-1)) continue;
    for (int axis = innermost - 1; axis >= 0; --axis)
      if (v.address.factor(axis).is(1) || v.address.factor(axis).is(-1)) return axis;
  }
  return -1;
}

/// Loads of narrow elements that lie along the axis `across`.
std::vector<SharedTile> turned_loads(const Kernel& k, int across) {
  constexpr int narrow = 2;  // bytes
  const int innermost = static_cast<int>(k.axes.size()) - 1;
  std::vector<SharedTile> tiles;
  for (std::size_t i = 0; i < k.values.size(); ++i) {
    const KernelValue& v = k.values[i];
    if (v.kind != KernelValue::Kind::load || v.guard >= 0 || size_of(v.dtype) > narrow) continue;
    if (!v.address.factor(innermost).is(0) && is_dense_along(k, v.address, across))
      tiles.push_back({.load = static_cast<int>(i)});
  }
  return tiles;
}

/// Of one axis: any number of elements at once. Of more: the innermost in vectors, whole or in pieces where
/// it is long or of unknown length; a tile's rows in a loop.
void divide_on_cpu(const Kernel& k, Schedule& s) {
  constexpr int piece = 8192;  // elements worth handing to a thread
  struct Tile {
    int rows, width;
  };
  // Rows share lines of memory, and lines stay in the first cache, even where they fall upon few of its sets.
  constexpr Tile direct{64, 16};
  // Whole lines of memory on both sides.
  constexpr Tile turned{32, 64};
  s.axes.assign(k.axes.size(), {{Level::thread}});
  if (k.axes.empty()) return;
  if (k.axes.size() == 1) return s.axes.front().push_back({Level::vector});
  if (const int across = axis_across(k); across >= 0) {
    s.tiles = turned_loads(k, across);
    const Tile& tile = s.tiles.empty() ? direct : turned;
    s.axes[static_cast<std::size_t>(across)].push_back({Level::loop, tile.rows});
    s.axes.back().push_back({Level::vector, tile.width});
    return;
  }
  const ir::Dim& length = k.axes.back().extent;
  const bool whole = length.is_constant() && length.value() <= piece;
  s.axes.back() = whole ? std::vector<Factor>{{Level::vector}}
                        : std::vector<Factor>{{Level::thread, piece}, {Level::vector}};
}

/// Where elements go one by one, a thread of a GPU takes several, a block apart, and a block a piece of a
/// row: which row that is gets worked out once for the block. 0 where rows are too short for that.
int piece_of_row(const Kernel& k, int threads) {
  constexpr int bytes_of_thread = 16;
  const ir::Dim& length = k.axes.back().extent;
  int widest = 1;
  for (const KernelBuffer& b : k.buffers) widest = std::max(widest, size_of(b.dtype));
  int piece = threads * std::max(2, bytes_of_thread / widest);
  if (!length.is_constant()) return 0;
  while (piece > threads && piece > length.value()) piece /= 2;
  return piece > threads ? piece : 0;
}

/// Whether something is read at a place that must be read first. A thread of a GPU waits for one after the
/// other, and has two vectors on their way meanwhile.
bool gathers(const Kernel& k) {
  return std::ranges::any_of(k.values, [&](const KernelValue& v) {
    return v.kind == KernelValue::Kind::load && std::ranges::any_of(v.address.terms, [&](const Term& t) {
             return k.atoms[t.atom].kind == Atom::Kind::value;
           });
  });
}

/// Whether a thread can take two vectors, one after the other in memory.
bool can_widen(const Kernel& k, const Schedule& chosen) {
  constexpr int most_bytes = 32;  // of the widest tensor
  int widest = 1;
  for (const KernelBuffer& b : k.buffers) widest = std::max(widest, size_of(b.dtype));
  return chosen.vector > 1 && 2 * chosen.vector * widest <= most_bytes &&
         k.axes.back().extent.known_divisor(k.facts) % (2 * chosen.vector) == 0;
}

}  // namespace

std::optional<Schedule> choose_pointwise(const Kernel& k, const DeviceDescription& device, std::string& why) {
  if (k.has_reduction()) {
    why = "pointwise: the kernel folds an axis";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "pointwise";
  const bool cpu = device.target.backend == Backend::cpu;
  if (cpu) {
    divide_on_cpu(k, s);
  } else {
    s.axes.assign(k.axes.size(), {{Level::grid}});
    s.block_threads = 256;
    if (!s.axes.empty()) {
      s.vector = vector_elements(k, static_cast<int>(k.axes.size()) - 1, device.vector_bytes);
      // Of many neighbours that are stored together a thread has enough with fewer of each.
      constexpr std::int64_t most_elements = 64;
      const std::int64_t together = std::ranges::count(k.stores, true, &KernelStore::in_part);
      while (s.vector > 1 && together > 1 && s.vector * together > most_elements) s.vector /= 2;
      if (const int piece = s.vector == 1 ? piece_of_row(k, s.block_threads) : 0; piece > 0) {
        s.lead = static_cast<int>(k.axes.size()) - 1;
        s.axes.back().push_back({Level::block, piece});
        return s;
      }
      if (s.vector > 1 && gathers(k)) {
        constexpr int vectors = 2;
        s.block_threads /= vectors;
        s.axes.back().push_back({Level::loop, vectors});
      }
      s.axes.back().push_back({Level::block, s.block_threads});
      if (s.vector > 1) s.axes.back().push_back({Level::vector, s.vector});
    }
  }
  return s;
}

std::vector<Schedule> vary_pointwise(const Kernel& k, const DeviceDescription&, const Schedule& chosen) {
  std::vector<Schedule> variants;
  if (chosen.axes.empty()) return variants;
  const bool pieces = chosen.lead >= 0;  // whose size says how many elements a thread has
  const auto with = [&](int threads, int times) {
    Schedule s = chosen;
    Factor* const block = sized(s.axes.back(), Level::block);
    s.block_threads = threads;
    block->size = pieces ? block->size / chosen.block_threads * threads * times : threads;
    if (!pieces && times > 1) {
      s.vector *= times;
      sized(s.axes.back(), Level::vector)->size = s.vector;
    }
    variants.push_back(std::move(s));
  };
  const int threads = chosen.block_threads;
  if (pieces) with(threads, 2);
  for (const int other : {threads / 2, 2 * threads, threads / 4}) with(other, 1);
  if (pieces || can_widen(k, chosen)) with(threads / 2, 2);
  with(4 * threads, 1);
  return variants;
}

}  // namespace sinter::codegen
