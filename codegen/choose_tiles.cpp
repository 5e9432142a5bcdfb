// Kernels without reductions on a GPU where some tensors lie along another axis than the others, as in x +
// y^T, or where neighbours in memory are few, as in a permutation of outer axes: blocks take tiles that are
// long enough along both axes, and what lies across the axis that neighbouring threads take is turned in
// shared memory. That axis is the innermost one, or another where fewer bytes are to be turned then.
#include <algorithm>
#include <bit>

#include "codegen/tile.h"
#include "codegen/vary.h"

namespace sinter::codegen {
namespace {

using Kind = KernelValue::Kind;

constexpr std::int64_t sector_bytes = 32;    // what memory moves at least
constexpr std::int64_t stretch_bytes = 256;  // of a row of a tile, where elements are wide enough
constexpr std::int64_t least_stretch = 128;
constexpr std::int64_t most_shared = 40 << 10;  // leaves room under what a kernel may declare
constexpr std::int64_t most_elements = 16384;   // of a tile
constexpr std::int64_t least_bytes = 4096;      // a block should have something to do
constexpr std::int64_t small_axis = 8;          // elements that a thread takes whole

/// What the chooser knows of a load or a store.
struct Use {
  int load = -1, store = -1;
  int buffer;
  const Affine* address;
  bool guarded = false;
};

/// A schedule whose threads are neighbours along one axis.
class TileChooser {
 public:
  TileChooser(const Kernel& k, const DeviceDescription& device, int lead,
              std::int64_t stretch = stretch_bytes)
      : k_(k), device_(device), lead_(lead), stretch_(stretch) {
    for (std::size_t i = 0; i < k.values.size(); ++i)
      if (const KernelValue& v = k.values[i]; v.kind == Kind::load)
        uses_.push_back({static_cast<int>(i), -1, v.buffer, &v.address, v.guard >= 0});
    for (std::size_t i = 0; i < k.stores.size(); ++i)
      uses_.push_back({-1, static_cast<int>(i), k.stores[i].buffer, &k.stores[i].address, false});
    for (const Use& u : uses_) widest_ = std::max(widest_, bytes(u));
    order_.push_back(lead);
    for (int axis = static_cast<int>(k.axes.size()) - 1; axis >= 0; --axis)
      if (axis != lead) order_.push_back(axis);
    for (const Use& u : uses_)
      (direct_run(u) < sector_bytes && own_run(u) >= 2 * direct_run(u) ? crossing_ : direct_).push_back(u);
  }

  /// Bytes of an element of all that is to be turned.
  int crossing_bytes() const {
    int n = 0;
    for (const Use& u : crossing_) n += bytes(u);
    return n;
  }

  /// The axis along which most of that lies; -1 where nothing is to be turned.
  int other_lead() const {
    std::vector<int> bytes_along(k_.axes.size());
    for (const Use& u : crossing_)
      bytes_along[static_cast<std::size_t>(axes_in_memory(k_, *u.address).front())] += bytes(u);
    const auto most = std::ranges::max_element(bytes_along);
    return *most == 0 ? -1 : static_cast<int>(most - bytes_along.begin());
  }

  std::optional<Schedule> run() {
    if (crossing_.empty() || !choose_sizes()) return std::nullopt;
    Schedule s;
    s.chooser = "tiles";
    if (lead_ != static_cast<int>(k_.axes.size()) - 1) s.lead = lead_;
    divide(s);
    const TileShape shape(k_, s);
    for (const Use& u : crossing_) s.tiles.push_back(without_conflicts(shape, u));
    return s;
  }

 private:
  const ir::Dim& extent(int axis) const { return k_.axes[static_cast<std::size_t>(axis)].extent; }
  std::int64_t& size(int axis) { return sizes_[static_cast<std::size_t>(axis)]; }
  int bytes(const Use& u) const { return size_of(k_.buffers[static_cast<std::size_t>(u.buffer)].dtype); }

  /// Bytes next to each other in memory that neighbouring threads touch; large if that is unknown.
  std::int64_t direct_run(const Use& u) const {
    std::int64_t run = 1;
    for (int axis : order_) {
      const ir::Dim gap = u.address->factor(axis);
      if (gap.is(0)) return most_elements;
      if (!(gap.is(run) || gap.is(-run))) break;
      if (!extent(axis).is_constant()) return most_elements;
      run *= extent(axis).value();
    }
    return run * bytes(u);
  }

  /// The like for the tensor in its own order.
  std::int64_t own_run(const Use& u) const {
    std::int64_t run = 1;
    for (int axis : axes_in_memory(k_, *u.address)) {
      if (!extent(axis).is_constant()) return most_elements;
      run *= extent(axis).value();
    }
    return run * bytes(u);
  }

  /// Takes enough of these axes, the first one fastest, for `elements` neighbours.
  void grow(const std::vector<int>& axes, std::int64_t elements) {
    for (int axis : axes) {
      const ir::Dim& n = extent(axis);
      const bool whole = n.is_constant() && n.value() <= elements + elements / 2;
      auto part = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(elements)));
      if (!whole && n.is_constant()) {  // the last tile should not be mostly empty
        const auto spare = [&](std::int64_t of) { return (n.value() + of - 1) / of * of - n.value(); };
        // Full tiles ask of no element whether it is within the axes. Shorter stretches of memory than half
        // of these cost more than a few threads without work.
        const std::int64_t spared = spare(part) - spare(part / 2);
        const bool long_enough = part / 2 * widest_ >= least_stretch;
        const bool full = spared > 0 && spare(part / 2) == 0;
        if (part >= 16 && (long_enough ? full || spared * 32 > n.value() : spared * 8 > n.value())) part /= 2;
      }
      size(axis) = std::max(size(axis), whole ? n.value() : part);
      if (n.is_constant()) size(axis) = std::min(size(axis), n.value());
      elements = (elements + size(axis) - 1) / size(axis);
      if (!whole || elements <= 1) return;
    }
  }

  /// The tile's axes as threads walk over them.
  std::vector<Span> spans() {
    std::vector<Span> order;
    for (int axis : order_)
      if (size(axis) > 1) order.push_back({axis, size(axis)});
    return order;
  }

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (std::int64_t size : sizes_) n *= std::max<std::int64_t>(size, 1);
    return n;
  }

  /// Elements of the tile along each axis; 0 for axes that it has but one element of.
  bool choose_sizes() {
    const int widest = widest_;
    sizes_.assign(k_.axes.size(), 0);
    const std::int64_t most =
        std::max(least_stretch / widest, std::min<std::int64_t>(stretch_ / widest, stretch_ / 4));
    const Use* straight = nullptr;  // what lies along the lead
    for (const Use& u : direct_)
      if (u.address->factor(lead_).is(1) && (!straight || u.store >= 0)) straight = &u;
    grow(straight ? axes_in_memory(k_, *straight->address) : order_, most);
    for (const Use& u : crossing_)
      grow(axes_in_memory(k_, *u.address), std::min<std::int64_t>(stretch_ / widest, stretch_ / 2));
    const auto largest = [&](auto may) {
      int found = -1;
      for (int axis : order_)
        if (size(axis) > 1 && may(axis) && (found < 0 || size(axis) > size(found))) found = axis;
      return found;
    };
    // Elements that go one by one keep threads busy for long: smaller tiles, more blocks side by side.
    const bool alone = std::ranges::all_of(direct_, [&](const Use& u) {
      return u.guarded || access_in_tile(k_, u.buffer, *u.address, spans(), device_.vector_bytes) == 1;
    });
    while (elements() * widest < least_bytes) {
      const int axis =
          largest([&](int a) { return !extent(a).is_constant() || 2 * size(a) <= extent(a).value(); });
      if (axis < 0) break;
      size(axis) *= 2;
    }
    const std::int64_t most_of_tile = alone ? (widest < 4 ? 2048 : 4096) : most_elements;
    while (elements() > most_of_tile || elements() * crossing_bytes() > most_shared) {
      const int axis = largest([&](int a) {
        return size(a) > small_axis && std::has_single_bit(static_cast<std::uint64_t>(size(a)));
      });
      if (axis < 0) return false;
      size(axis) /= 2;
    }
    return true;
  }

  /// Divides the tile among threads.
  void divide(Schedule& s) {
    const std::vector<Span> order = spans();
    for (const Use& u : direct_)
      if (!u.guarded)
        s.vector = std::max(s.vector, access_in_tile(k_, u.buffer, *u.address, order, device_.vector_bytes));
    // A few elements in front of the lead, in all that is turned: a thread takes them whole.
    int rows = axes_in_memory(k_, *crossing_.front().address).front();
    for (const Use& u : crossing_) {
      const std::vector<int> axes = axes_in_memory(k_, *u.address);
      const bool fits = axes.size() > 1 && axes[0] == rows && axes[1] == lead_ &&
                        s.vector * bytes(u) == device_.vector_bytes;
      if (!fits) rows = -1;
    }
    const bool flattened = order.front().axis != lead_ || order.front().size % s.vector != 0;
    for (int axis = 0; axis < static_cast<int>(k_.axes.size()); ++axis) {
      std::vector<Factor> factors;
      std::int64_t vector = 1;
      const std::int64_t length = std::max<std::int64_t>(size(axis), 1);
      if (length == 1 || !extent(axis).is(length)) factors.push_back({Level::grid});
      if (!flattened && axis == lead_) vector = s.vector;
      if (!flattened && axis == rows && length <= small_axis && extent(axis).is(length)) vector = length;
      if (length > vector) factors.push_back({Level::block, static_cast<int>(length / vector)});
      if (vector > 1) factors.push_back({Level::vector, static_cast<int>(vector)});
      s.axes.push_back(std::move(factors));
    }
    const TileShape shape(k_, s);
    // More threads rather than ever more elements for each, which take long to compile.
    constexpr std::int64_t warp = 32, few = 256, most_of_thread = 16;
    // Two vectors of each keep the memory busy.
    const bool vectors = s.vector > 1 && s.vector * widest_ == device_.vector_bytes && !shape.flattened;
    const std::int64_t threads =
        shape.elements() > few * most_of_thread || (vectors && shape.units() > 2 * few) ? 2 * few : few;
    const std::int64_t steps = (shape.units() + threads - 1) / threads;
    const std::int64_t warps = ((shape.units() + steps - 1) / steps + warp - 1) / warp;
    s.block_threads = static_cast<int>(warps * warp);
  }

  /// Of the ways to leave gaps in a tile the one whose accesses meet the fewest bank conflicts.
  SharedTile without_conflicts(const TileShape& shape, const Use& u) const {
    constexpr int word = 4;
    SharedTile tile{u.load, u.store};
    const std::vector<Span> order = shape.order(*u.address);
    if (!u.guarded) tile.access = access_in_tile(k_, u.buffer, *u.address, order, device_.vector_bytes);
    SharedTile best = tile;
    int fewest = bank_conflicts(shape, tile, *u.address, bytes(u));
    const int gap = std::max({tile.access, word / bytes(u), 1});
    std::int64_t stride = 1;
    for (const Span& span : order) {
      for (std::int64_t every : {stride * span.size, stride * shape.vector})
        for (int gaps : {1, 2}) {
          if (every % gap != 0 || every >= shape.elements()) continue;
          tile.skew_every = static_cast<int>(every);
          tile.skew = gaps * gap;
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
  int lead_;
  int widest_ = 1;          // bytes of the largest elements
  std::int64_t stretch_;    // bytes of a row of a tile, for wide elements
  std::vector<int> order_;  // of the axes, as threads walk over them: the lead, then from the innermost on
  std::vector<Use> uses_, crossing_, direct_;
  std::vector<std::int64_t> sizes_;  // per axis; 0 for those that the tile has one element of
};

}  // namespace

std::optional<Schedule> choose_tiles(const Kernel& k, const DeviceDescription& device, std::string& why) {
  const bool empty = std::ranges::any_of(k.axes, [](const KernelAxis& a) { return a.extent.is(0); });
  if (k.has_reduction() || k.axes.size() < 2 || empty) {
    why = "tiles: the kernel folds an axis, or has but one, or no elements";
    return std::nullopt;
  }
  const int innermost = static_cast<int>(k.axes.size()) - 1;
  TileChooser straight(k, device, innermost);
  why = "tiles: no tensor lies along another axis than the others";
  const int lead = straight.other_lead();
  if (lead < 0) return std::nullopt;
  std::optional<Schedule> s = straight.run();
  TileChooser turned(k, device, lead);
  // With a few innermost elements whole, a thread's place among them is worked out anew for each.
  const bool fewer = turned.crossing_bytes() < straight.crossing_bytes();
  const bool flat = s && s->vector > 1 && TileShape(k, *s).flattened;
  if (lead != innermost && (!s || fewer || (flat && turned.crossing_bytes() == straight.crossing_bytes())))
    if (std::optional<Schedule> t = turned.run()) s = t;
  if (!s) why = "tiles: they would not fit shared memory";
  return s;
}

/// Smaller and larger tiles, those whose threads are neighbours along another axis, other numbers of threads.
std::vector<Schedule> vary_tiles(const Kernel& k, const DeviceDescription& device, const Schedule& chosen) {
  constexpr int warp = 32;
  const int innermost = static_cast<int>(k.axes.size()) - 1;
  const int lead = chosen.lead >= 0 ? chosen.lead : innermost;
  const int other = lead == innermost ? TileChooser(k, device, innermost).other_lead() : innermost;
  std::vector<Schedule> variants;
  const auto add = [&](int along, std::int64_t stretch) {
    if (along < 0) return;
    if (std::optional<Schedule> s = TileChooser(k, device, along, stretch).run())
      variants.push_back(std::move(*s));
  };
  for (const std::int64_t stretch : {stretch_bytes / 2, 2 * stretch_bytes}) add(lead, stretch);
  add(other, stretch_bytes);
  for (const int threads : {2 * chosen.block_threads, chosen.block_threads / 2 / warp * warp}) {
    if (threads < least_threads_varied) continue;
    variants.push_back(chosen);
    variants.back().block_threads = threads;
  }
  return variants;
}

}  // namespace sinter::codegen
