// Kernels without reductions on a GPU where some tensors lie along another axis than the others, as in x +
// y^T, or where neighbours in memory are few, as in a permutation of outer axes: blocks take tiles that are
// long enough along both axes, and what lies across is read in its own order and turned in shared memory.
#include <algorithm>
#include <bit>

#include "codegen/tile.h"

namespace sinter::codegen {
namespace {

using Kind = KernelValue::Kind;

constexpr std::int64_t sector_bytes = 32;       // what memory moves at least
constexpr std::int64_t most_shared = 40 << 10;  // leaves room under what a kernel may declare
constexpr std::int64_t most_elements = 16384;   // of a tile

/// What the chooser knows of a load or a store.
struct Use {
  int load = -1, store = -1;
  int buffer;
  const Affine* address;
  bool guarded = false;
};

class Chooser {
 public:
  Chooser(const Kernel& k, const DeviceDescription& device)
      : k_(k), device_(device), inner_(static_cast<int>(k.axes.size()) - 1) {
    for (std::size_t i = 0; i < k.values.size(); ++i)
      if (const KernelValue& v = k.values[i]; v.kind == Kind::load)
        uses_.push_back({static_cast<int>(i), -1, v.buffer, &v.address, v.guard >= 0});
    for (std::size_t i = 0; i < k.stores.size(); ++i)
      uses_.push_back({-1, static_cast<int>(i), k.stores[i].buffer, &k.stores[i].address, false});
  }

  std::optional<Schedule> run(std::string& why) {
    why = "tiles: no tensor lies along another axis than the others";
    find_crossing();
    if (crossing_.empty() || !choose_sizes()) return std::nullopt;
    Schedule s;
    s.chooser = "tiles";
    divide(s);
    place(s);
    if (s.tiles.empty()) return std::nullopt;
    return s;
  }

 private:
  const ir::Dim& extent(int axis) const { return k_.axes[static_cast<std::size_t>(axis)].extent; }
  int bytes(const Use& u) const { return size_of(k_.buffers[static_cast<std::size_t>(u.buffer)].dtype); }

  /// Bytes next to each other in memory that threads touch one after the other, where the tensor is read
  /// element by element in the order of the axes; large if that is unknown.
  std::int64_t direct_run(const Use& u) const {
    std::int64_t run = 1;
    for (int axis = inner_; axis >= 0; --axis) {
      const ir::Dim gap = u.address->factor(axis);
      if (gap.is(0) || !(gap.is(run) || gap.is(-run))) {
        if (gap.is(0)) return most_elements;
        break;
      }
      if (!extent(axis).is_constant()) return most_elements;
      run *= extent(axis).value();
    }
    return run * bytes(u);
  }

  /// The like for the tensor read in its own order.
  std::int64_t own_run(const Use& u) const {
    std::int64_t run = 1;
    for (int axis : axes_in_memory(k_, *u.address)) {
      if (!extent(axis).is_constant()) return most_elements;
      run *= extent(axis).value();
    }
    return run * bytes(u);
  }

  void find_crossing() {
    for (const Use& u : uses_)
      if (direct_run(u) < sector_bytes && own_run(u) >= 2 * direct_run(u)) crossing_.push_back(u);
  }

  /// Takes enough of these axes, the first one fastest, for `elements` neighbours.
  void grow(const std::vector<int>& axes, std::int64_t elements) {
    for (int axis : axes) {
      std::int64_t& size = sizes_[static_cast<std::size_t>(axis)];
      const ir::Dim& n = extent(axis);
      const bool whole = n.is_constant() && n.value() <= elements + elements / 2;
      std::int64_t part = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(elements)));
      if (!whole && n.is_constant()) {  // the last tile should not be mostly empty
        const auto spare = [&](std::int64_t size) {
          return (n.value() + size - 1) / size * size - n.value();
        };
        if (part >= 16 && (spare(part) - spare(part / 2)) * 8 > n.value()) part /= 2;
      }
      size = std::max(size, whole ? n.value() : part);
      if (n.is_constant()) size = std::min(size, n.value());
      if (!whole) return;
      elements = (elements + size - 1) / size;
      if (elements <= 1) return;
    }
  }

  /// A block should have something to do where rows of the tile are short.
  void enlarge(int widest) {
    constexpr std::int64_t least_bytes = 1536;
    for (;;) {
      std::int64_t n = 1;
      int largest = -1;
      for (int axis = 0; axis <= inner_; ++axis) {
        const std::int64_t size = sizes_[static_cast<std::size_t>(axis)];
        if (size == 0) continue;
        n *= size;
        const bool partial = !extent(axis).is_constant() || 2 * size <= extent(axis).value();
        if (partial && (largest < 0 || size > sizes_[static_cast<std::size_t>(largest)])) largest = axis;
      }
      if (n * widest >= least_bytes || largest < 0) return;
      sizes_[static_cast<std::size_t>(largest)] *= 2;
    }
  }

  /// Elements of the tile along each axis; 0 for axes that it has but one element of.
  bool choose_sizes() {
    int widest = 1;
    for (const Use& u : uses_) widest = std::max(widest, bytes(u));
    constexpr std::int64_t stretch = 256;  // bytes of a row of the tile
    std::vector<int> domain;
    for (int axis = inner_; axis >= 0; --axis) domain.push_back(axis);
    sizes_.assign(k_.axes.size(), 0);
    grow(domain, std::max<std::int64_t>(stretch / 2 / widest, std::min<std::int64_t>(stretch / widest, 64)));
    for (const Use& u : crossing_)
      grow(axes_in_memory(k_, *u.address), std::min<std::int64_t>(stretch / widest, 128));
    enlarge(widest);
    std::int64_t shared = 0;
    for (const Use& u : crossing_) shared += bytes(u);
    for (;;) {
      std::int64_t n = 1;
      int largest = -1;
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        if (sizes_[i] == 0) continue;
        n *= sizes_[i];
        const bool divisible = std::has_single_bit(static_cast<std::uint64_t>(sizes_[i])) && sizes_[i] > 8;
        if (divisible && (largest < 0 || sizes_[i] > sizes_[static_cast<std::size_t>(largest)]))
          largest = static_cast<int>(i);
      }
      if (n <= most_elements && n * shared <= most_shared) return true;
      if (largest < 0) return false;
      sizes_[static_cast<std::size_t>(largest)] /= 2;
    }
  }

  bool is_crossing(const Use& u) const {
    return std::ranges::any_of(crossing_,
                               [&](const Use& c) { return c.load == u.load && c.store == u.store; });
  }

  /// Divides the tile among threads.
  void divide(Schedule& s) const {
    std::vector<Span> order;
    for (int axis = inner_; axis >= 0; --axis)
      if (sizes_[static_cast<std::size_t>(axis)] > 1)
        order.push_back({axis, sizes_[static_cast<std::size_t>(axis)]});
    int stored_bytes = 1, turned_bytes = 1;
    bool same_axis = true;  // all that lie across lie along one axis, and that is not the innermost
    int across = -1;
    for (const Use& u : uses_) {
      if (!is_crossing(u)) {
        if (!u.guarded)
          s.vector =
              std::max(s.vector, access_in_tile(k_, u.buffer, *u.address, order, device_.vector_bytes));
        if (u.store >= 0) stored_bytes = std::max(stored_bytes, bytes(u));
        continue;
      }
      turned_bytes = std::max(turned_bytes, bytes(u));
      const int first = axes_in_memory(k_, *u.address).front();
      same_axis = same_axis && first != inner_ && (across < 0 || across == first) && u.load >= 0;
      across = first;
    }
    const bool flattened = order.front().axis != inner_ || order.front().size % s.vector != 0;
    for (std::size_t i = 0; i < k_.axes.size(); ++i) {
      std::vector<Factor> factors;
      const std::int64_t size = std::max<std::int64_t>(sizes_[i], 1);
      if (size == 1 || !extent(static_cast<int>(i)).is(size)) factors.push_back({Level::grid});
      std::int64_t vector = 1, lanes = 1;
      if (!flattened && static_cast<int>(i) == inner_) {
        constexpr std::int64_t row = 128;  // bytes that a warp's threads take side by side, then the next row
        vector = s.vector;
        lanes = std::min<std::int64_t>(32, row / (vector * stored_bytes));
        if (lanes < 1 || size / vector % lanes != 0 || size / vector == lanes) lanes = 1;
      } else if (!flattened && same_axis && static_cast<int>(i) == across && turned_bytes < 4) {
        vector = 4 / turned_bytes;  // so that threads read whole words
        if (size % vector != 0) vector = 1;
      }
      if (size / vector / lanes > 1)
        factors.push_back({Level::block, static_cast<int>(size / vector / lanes)});
      if (lanes > 1) factors.push_back({Level::lane, static_cast<int>(lanes)});
      if (vector > 1) factors.push_back({Level::vector, static_cast<int>(vector)});
      s.axes.push_back(std::move(factors));
    }
    const TileShape shape(k_, s);
    constexpr std::int64_t warp = 32;
    constexpr std::int64_t threads = 256;
    const std::int64_t steps = (shape.units() + threads - 1) / threads;
    const std::int64_t warps = ((shape.units() + steps - 1) / steps + warp - 1) / warp;
    s.block_threads = static_cast<int>(warps * warp);
  }

  /// How each tensor that lies across goes through shared memory.
  void place(Schedule& s) const {
    for (const Use& u : crossing_) {
      const TileShape shape(k_, s);
      SharedTile tile{u.load, u.store};
      const std::vector<Span> order = shape.order(*u.address);
      if (!u.guarded) tile.access = access_in_tile(k_, u.buffer, *u.address, order, device_.vector_bytes);
      s.tiles.push_back(without_conflicts(shape, tile, order, u));
    }
  }

  /// Of the ways to leave gaps the one whose reads meet the fewest bank conflicts.
  SharedTile without_conflicts(const TileShape& shape, SharedTile tile, const std::vector<Span>& order,
                               const Use& u) const {
    constexpr int word = 4;
    SharedTile best = tile;
    int fewest = bank_conflicts(shape, tile, *u.address, bytes(u));
    const int least_gap = std::max({tile.access, word / bytes(u), 1});
    std::int64_t stride = 1;
    for (const Span& span : order) {
      for (std::int64_t every : {stride * span.size, stride * shape.vector})
        for (int gap : {least_gap, 2 * least_gap}) {
          if (every % least_gap != 0 || every >= shape.elements()) continue;
          tile.skew_every = static_cast<int>(every);
          tile.skew = gap;
          const int conflicts = bank_conflicts(shape, tile, *u.address, bytes(u));
          if (conflicts >= fewest) continue;
          fewest = conflicts;
          best = tile;
        }
      stride *= span.size;
    }
    return best;
  }

  const Kernel& k_;
  const DeviceDescription& device_;
  int inner_;
  std::vector<Use> uses_, crossing_;
  std::vector<std::int64_t> sizes_;  // per axis; 0 for those that the tile has one element of
};

}  // namespace

std::optional<Schedule> choose_tiles(const Kernel& k, const DeviceDescription& device, std::string& why) {
  if (k.has_reduction() || k.axes.size() < 2) {
    why = "tiles: the kernel folds an axis, or has but one";
    return std::nullopt;
  }
  return Chooser(k, device).run(why);
}

}  // namespace sinter::codegen
