// Tiles of the CUDA dialect. A block first moves the tensors that lie across into shared memory, each in the
// order in which it lies, and has its loads of the others under way meanwhile; then every thread computes
// elements in the order of the axes. Stores that lie across leave through shared memory likewise.
#include <algorithm>

#include "codegen/batch.h"
#include "codegen/emit_cuda.h"
#include "codegen/tile.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

using Kind = KernelValue::Kind;

class TilePrinter {
 public:
  TilePrinter(const Kernel& k, const Schedule& s, const Target& target, Lines& lines, BodyPrinter& body)
      : k_(k), s_(s), lines_(lines), body_(body), shape_(k, s), bytes_(describe(target).vector_bytes) {}

  void print(KernelSource& source) {
    place_block(source);
    lines_.add("const uint32 t = threadIdx.x;");
    for (const SharedTile& tile : s_.tiles) declare_tile(tile);
    for (const SharedTile& tile : s_.tiles)
      if (tile.load >= 0) fetch(tile);
    fetch_direct();
    for (const SharedTile& tile : s_.tiles)
      if (tile.load >= 0) leave(tile);
    const auto has = [&](auto which) {
      return std::ranges::any_of(s_.tiles, [&](const SharedTile& t) { return t.*which >= 0; });
    };
    if (has(&SharedTile::load)) lines_.add("sync_block();");
    compute();
    if (has(&SharedTile::store)) lines_.add("sync_block();");
    for (const SharedTile& tile : s_.tiles)
      if (tile.store >= 0) deliver(tile);
  }

 private:
  static std::string name(const SharedTile& tile) {
    return tile.load >= 0 ? fmt::format("tile{}", tile.load) : fmt::format("tile_w{}", tile.store);
  }
  const KernelValue& value(int v) const { return k_.values[static_cast<std::size_t>(v)]; }
  const KernelStore& stored(int number) const { return k_.stores[static_cast<std::size_t>(number)]; }
  const Affine& address(const SharedTile& tile) const {
    return tile.load >= 0 ? value(tile.load).address : stored(tile.store).address;
  }
  DType dtype(const SharedTile& tile) const {
    return value(tile.load >= 0 ? tile.load : stored(tile.store).value).dtype;
  }
  std::string type(const SharedTile& tile) const { return stored_type_name(dtype(tile)); }
  const SharedTile* tile_of(int load, int store) const {
    for (const SharedTile& t : s_.tiles)
      if ((load >= 0 && t.load == load) || (store >= 0 && t.store == store)) return &t;
    return nullptr;
  }
  bool is_split(int axis) const { return shape_.size(axis) == 0 || shape_.is_split(axis); }

  /// Where the block's tile begins: o1, o2, ...; along axes that the tile has one element of, i0, ...
  void place_block(KernelSource& source) {
    source.units = 1;
    source.unit_elements = shape_.elements();
    std::vector<int> split;
    for (int axis = static_cast<int>(k_.axes.size()) - 1; axis >= 0; --axis)
      if (is_split(axis)) split.push_back(axis);
    std::string rest(block_number(s_));
    for (std::size_t i = 0; i < split.size(); ++i) {
      const int axis = split[i];
      const std::int64_t size = shape_.size(axis);
      const std::string n = body_.extent(axis);
      std::string tiles = n, times;
      if (size != 0) {
        source.units = source.units * pieces_of(k_.axes[static_cast<std::size_t>(axis)].extent, size);
        if (i + 1 != split.size())
          lines_.add(fmt::format("const index tiles{} = ({} + {}) / {};", axis, n, size - 1, size));
        tiles = fmt::format("tiles{}", axis);
        times = fmt::format(" * {}", size);
      } else {
        source.units = source.units * k_.axes[static_cast<std::size_t>(axis)].extent;
      }
      const std::string origin = fmt::format("const index {}{} = ", size != 0 ? "o" : "i", axis);
      if (i + 1 == split.size()) {
        lines_.add(fmt::format("{}{}{};", origin, rest, times));
        return;
      }
      lines_.add(fmt::format("{}{} % {}{};", origin, rest, tiles, times));
      lines_.add(fmt::format("const index rest{} = {} / {};", axis, rest, tiles));
      rest = fmt::format("rest{}", axis);
    }
  }

  void declare_tile(const SharedTile& tile) {
    // An array of vectors is aligned for them.
    const std::int64_t n = (shared_elements(shape_, tile) + tile.access - 1) / tile.access;
    lines_.add(fmt::format("__shared__ vec<{}, {}> shared_{}[{}];", type(tile), tile.access, name(tile), n));
    lines_.add(fmt::format("{0}* const {1} = ({0}*)shared_{1};", type(tile), name(tile)));
  }

  /// What a thread moves of a tensor in its own order: so many accesses.
  std::int64_t own_steps(const SharedTile& tile) const {
    return (shape_.elements() / tile.access + s_.block_threads - 1) / s_.block_threads;
  }
  /// Opens the loop over those; q is the place in the tile. With `indices`, those of the element are
  /// declared, and what lies beyond the axes is left out.
  void open_own_order(const SharedTile& tile, bool indices) {
    const std::int64_t pieces = shape_.elements() / tile.access;
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int j = 0; j < {}; ++j) {{", own_steps(tile)));
    lines_.add(fmt::format("const uint32 q = (j * {} + t){};", s_.block_threads,
                           tile.access > 1 ? fmt::format(" * {}", tile.access) : ""));
    std::string condition;
    if (indices) {
      std::vector<Digit> digits;
      for (const Span& span : shape_.order(address(tile))) digits.push_back({span.axis, span.size, 1});
      take_apart("q", digits);
      declare_indices();
      condition = inside();
    }
    if (pieces % s_.block_threads != 0)
      condition = fmt::format("q < {}{}{}", shape_.elements(), condition.empty() ? "" : " && ", condition);
    lines_.open(condition.empty() ? "{" : fmt::format("if ({}) {{", condition));
  }
  void close_own_order() {
    lines_.close();
    lines_.close();
  }

  /// Places in the tile, a1, a2, ..., from a running number; the first digit may have steps of several.
  void take_apart(const std::string& number, const std::vector<Digit>& digits) {
    std::int64_t below = 1;
    std::vector<std::pair<int, std::string>> sums;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const Digit& d = digits[i];
      std::string text = below == 1 ? number : fmt::format("{} / {}", number, below);
      if (d.count == 1) text = "0";
      if (d.count != 1 && i + 1 != digits.size()) text += fmt::format(" % {}", d.count);
      if (d.step != 1 && d.count != 1) text += fmt::format(" * {}", d.step);
      below *= d.count;
      const auto at = std::ranges::find(sums, d.axis, &std::pair<int, std::string>::first);
      if (at == sums.end())
        sums.emplace_back(d.axis, text);
      else
        at->second += " + " + text;
    }
    for (const auto& [axis, text] : sums) lines_.add(fmt::format("const uint32 a{} = {};", axis, text));
  }

  std::string index_of(int axis, const std::string& more = "") const {
    const std::string at = fmt::format(
        "(index){}", more.empty() ? fmt::format("a{}", axis) : fmt::format("(a{} + {})", axis, more));
    return is_split(axis) ? fmt::format("o{} + {}", axis, at) : at;
  }
  void declare_indices() {
    for (const Span& span : shape_.axes())
      lines_.add(fmt::format("const index i{} = {};", span.axis, index_of(span.axis)));
  }

  /// The condition that the indices at hand are within the axes, or those of them that an address depends
  /// on; "" where all tiles are full.
  std::string inside(const Affine* address = nullptr) {
    std::string text;
    for (const Span& span : shape_.axes()) {
      if (address && address->factor(span.axis).is(0)) continue;
      const ir::Dim& n = k_.axes[static_cast<std::size_t>(span.axis)].extent;
      if (!is_split(span.axis) || n.known_divisor(k_.facts) % span.size == 0) continue;
      text += fmt::format("{}i{} < {}", text.empty() ? "" : " && ", span.axis, body_.extent(span.axis));
    }
    return text;
  }

  /// Where an element is in the tile; `more` is added to the place along an axis.
  std::string place(const SharedTile& tile, int axis = -1, const std::string& more = "") const {
    std::string text;
    std::int64_t stride = 1;
    for (const Span& span : shape_.order(address(tile))) {
      std::string at = fmt::format("a{}", span.axis);
      if (span.axis == axis) at = stride == 1 ? at + " + " + more : fmt::format("({} + {})", at, more);
      text += (text.empty() ? "" : " + ") + (stride == 1 ? at : fmt::format("{} * {}", at, stride));
      stride *= span.size;
    }
    return skewed(tile, text);
  }
  static std::string skewed(const SharedTile& tile, const std::string& place) {
    return tile.skew == 0 ? place : fmt::format("skewed<{}, {}>({})", tile.skew_every, tile.skew, place);
  }

  void fetch(const SharedTile& tile) {
    const KernelValue& v = value(tile.load);
    // Threads read whole words of the tile, so what is beyond the axes is written, too.
    lines_.add(fmt::format("vec<{}, {}> x{}[{}]{};", type(tile), tile.access, tile.load, own_steps(tile),
                           inside().empty() ? "" : " = {}"));
    open_own_order(tile, true);
    for (int needed : needed_by_load(k_, tile.load)) body_.declare(needed);
    const std::string where = BodyPrinter::value_name(tile.load);
    if (tile.access > 1) {
      lines_.add(fmt::format("x{}[j] = {};", tile.load,
                             load_of(s_, tile.access, tile.access, body_.place_of(tile.load))));
    } else {
      std::string text = body_.element(v.buffer, v.address, where);
      if (v.guard >= 0)
        text = fmt::format("{} ? {} : {}{{}}", BodyPrinter::value_name(v.guard), text, type(tile));
      lines_.add(fmt::format("x{}[j].at[0] = {};", tile.load, text));
    }
    close_own_order();
  }

  void leave(const SharedTile& tile) {
    open_own_order(tile, false);
    lines_.add(fmt::format("store_vec<{}>({} + {}, x{}[j]);", tile.access, name(tile), skewed(tile, "q"),
                           tile.load));
    close_own_order();
  }

  void deliver(const SharedTile& tile) {
    const KernelStore& s = stored(tile.store);
    open_own_order(tile, true);
    lines_.add(fmt::format("store_vec<{0}>({1} + {2}, load_vec<{0}, {0}>({3} + {4}));", tile.access,
                           body_.buffer(s.buffer), body_.store_index(tile.store), name(tile),
                           skewed(tile, "q")));
    close_own_order();
  }

  // ---- elements in the order of the axes

  /// Elements of one access where a thread's vector lies in memory as it is; 0 where it does not.
  int direct_access(int buffer, const Affine& address) const {
    const bool whole = shape_.flattened ? run_in_tile(k_, address, shape_.axes()) % shape_.vector == 0
                                        : is_dense_along(k_, address, shape_.axes().front().axis);
    if (!whole) return 0;
    return std::min(shape_.vector, access_in_tile(k_, buffer, address, shape_.axes(), bytes_));
  }
  /// The same of a load that goes before the arithmetic; 0 for the rest.
  int load_access(int v) const {
    const KernelValue& x = value(v);
    if (x.kind != Kind::load || x.guard >= 0 || tile_of(v, -1)) return 0;
    return direct_access(x.buffer, x.address);
  }
  int store_access(int number) const {
    return tile_of(-1, number) ? 0 : direct_access(stored(number).buffer, stored(number).address);
  }

  /// Opens the loop over a thread's units and, where it takes several rows, over those: the indices are of
  /// the first element. `before_rows` stands where a unit is opened. Unless `within`, what lies beyond the
  /// axes is gone over, too.
  void open_units(const std::function<void()>& before_rows, bool within = true) {
    const std::int64_t steps = unit_steps();
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int j = 0; j < {}; ++j) {{", steps));
    const bool spare = shape_.units() % s_.block_threads != 0;
    lines_.add(fmt::format("const uint32 u = j * {} + t;", s_.block_threads));
    if (spare) lines_.add(fmt::format("if (u >= {}) break;", shape_.units()));
    if (shape_.flattened) lines_.add(fmt::format("const uint32 q = u * {};", shape_.vector));
    take_apart(shape_.flattened ? "q" : "u", shape_.digits());
    before_rows();
    if (shape_.rows > 1) {
      lines_.add("#pragma unroll");
      lines_.open(fmt::format("for (int g = 0; g < {}; ++g) {{", shape_.rows));
    }
    for (const Span& span : shape_.axes())
      lines_.add(fmt::format("const index i{} = {};", span.axis,
                             index_of(span.axis, span.axis == shape_.across ? "g" : "")));
    const std::string condition = within ? inside() : "";
    lines_.open(condition.empty() ? "{" : fmt::format("if ({}) {{", condition));
  }
  void close_units(const std::function<void()>& after_rows) {
    lines_.close();
    if (shape_.rows > 1) lines_.close();
    after_rows();
    lines_.close();
  }
  std::int64_t unit_steps() const { return (shape_.units() + s_.block_threads - 1) / s_.block_threads; }
  std::string unit() const { return shape_.rows > 1 ? fmt::format("[j * {} + g]", shape_.rows) : "[j]"; }

  void fetch_direct() {
    bool any = false;
    for (std::size_t v = 0; v < k_.values.size(); ++v) {
      if (load_access(static_cast<int>(v)) == 0) continue;
      any = true;
      lines_.add(fmt::format("vec<{}, {}> x{}[{}];", stored_type_name(k_.values[v].dtype), shape_.vector, v,
                             unit_steps() * shape_.rows));
    }
    if (!any) return;
    open_units([] {}, false);
    for (std::size_t i = 0; i < k_.values.size(); ++i) {
      const int v = static_cast<int>(i), access = load_access(v);
      if (access == 0) continue;
      // What a thread has beyond the axes is never used, so what does not depend on them is simply read.
      const std::string condition = inside(&value(v).address);
      lines_.add(fmt::format("{}x{}{} = {};", condition.empty() ? "" : fmt::format("if ({}) ", condition), v,
                             unit(), load_of(s_, access, shape_.vector, body_.place_of(v))));
    }
    close_units([] {});
  }

  Reach reach(const SharedTile& tile) const {
    return reach_of(shape_, tile, address(tile), size_of(dtype(tile)));
  }
  /// The array of what a thread takes of a tile at once, or leaves there.
  static std::string unit_name(const SharedTile& tile) {
    return tile.load >= 0 ? fmt::format("z{}", tile.load) : fmt::format("z_w{}", tile.store);
  }
  std::string unit_array(const SharedTile& tile) const {
    const bool block = reach(tile) == Reach::block;
    return fmt::format("vec<{}, {}> {}{}", type(tile), shape_.vector * (block ? shape_.rows : 1),
                       unit_name(tile), !block && shape_.rows > 1 ? fmt::format("[{}]", shape_.rows) : "");
  }
  /// An element of it, in the loops over rows and over the vector.
  std::string unit_element(const SharedTile& tile) const {
    const Reach r = reach(tile);
    if (r == Reach::block) return fmt::format("{}.at[k * {} + g]", unit_name(tile), shape_.rows);
    if (r == Reach::vector) return fmt::format("{}{}.at[k]", unit_name(tile), shape_.rows > 1 ? "[g]" : "");
    return fmt::format("{}[{}]", name(tile), place(tile, shape_.rows > 1 ? shape_.across : -1, "g"));
  }
  /// Moves a thread's part of a tile between shared memory and that array.
  void move_unit(const SharedTile& tile) {
    if (reach(tile) == Reach::one) return;
    const bool block = reach(tile) == Reach::block, each_row = !block && shape_.rows > 1;
    const std::string array = unit_name(tile) + (each_row ? "[g]" : "");
    const std::string at =
        fmt::format("{} + {}", name(tile), place(tile, each_row ? shape_.across : -1, "g"));
    if (each_row) {
      lines_.add("#pragma unroll");
      lines_.open(fmt::format("for (int g = 0; g < {}; ++g) {{", shape_.rows));
    }
    if (tile.load >= 0)
      lines_.add(fmt::format("{} = load_vec<{}, {}>({});", array, shape_.vector,
                             shape_.vector * (block ? shape_.rows : 1), at));
    else
      lines_.add(fmt::format("store_vec<{}>({}, {});", shape_.vector, at, array));
    if (each_row) lines_.close();
  }

  void compute() {
    const int inner = shape_.axes().front().axis;
    open_units([&] {
      for (const SharedTile& tile : s_.tiles)
        if (reach(tile) != Reach::one) {
          lines_.add(unit_array(tile) + (tile.store >= 0 && !inside().empty() ? " = {};" : ";"));
          if (tile.load >= 0) move_unit(tile);
        }
    });
    std::vector<int> wide;
    for (std::size_t s = 0; s < k_.stores.size(); ++s)
      if (store_access(static_cast<int>(s)) != 0) wide.push_back(static_cast<int>(s));
    for (int s : wide)
      lines_.add(
          fmt::format("vec<{}, {}> y{};", stored_type_name(value(stored(s).value).dtype), shape_.vector, s));
    lines_.add(fmt::format("const uint32 first = {};", shape_.flattened ? "q" : fmt::format("a{}", inner)));
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int k = 0; k < {}; ++k) {{", shape_.vector));
    if (shape_.flattened) {
      lines_.add("const uint32 q = first + k;");
      take_apart("q", shape_.digits());
      declare_indices();
    } else {
      lines_.add(fmt::format("const uint32 a{} = first + k;", inner));
      lines_.add(fmt::format("const index i{} = {};", inner, index_of(inner)));
    }
    for (std::size_t i = 0; i < k_.values.size(); ++i)
      body_.declare(static_cast<int>(i), [&](int v) {
        const SharedTile* tile = tile_of(v, -1);
        if (!tile && load_access(v) == 0) return body_.load(v);
        return BodyPrinter::from_stored(tile ? unit_element(*tile) : fmt::format("x{}{}.at[k]", v, unit()),
                                        value(v).dtype);
      });
    for (std::size_t i = 0; i < k_.stores.size(); ++i) {
      const int s = static_cast<int>(i);
      const SharedTile* tile = tile_of(-1, s);
      const std::string to = tile                   ? unit_element(*tile)
                             : store_access(s) != 0 ? fmt::format("y{}.at[k]", s)
                                                    : fmt::format("{}[{}]", body_.buffer(k_.stores[i].buffer),
                                                                  body_.store_index(s));
      lines_.add(fmt::format("{} = v{};", to, k_.stores[i].value));
    }
    lines_.close();
    for (int s : wide)
      lines_.add(fmt::format("store_vec<{}>({} + as_it_is({}), y{});", store_access(s),
                             body_.buffer(stored(s).buffer), body_.store_index(s), s));
    close_units([&] {
      for (const SharedTile& tile : s_.tiles)
        if (tile.store >= 0) move_unit(tile);
    });
  }

  const Kernel& k_;
  const Schedule& s_;
  Lines& lines_;
  BodyPrinter& body_;
  TileShape shape_;
  int bytes_;
};

}  // namespace

void CudaEmitter::print_tiles(KernelSource& source) {
  TilePrinter(k_, schedule_, target_, lines_, body_).print(source);
}

}  // namespace sinter::codegen
