#include "codegen/tile.h"

#include <algorithm>
#include <set>

namespace sinter::codegen {

TileShape::TileShape(const Kernel& k, const Schedule& s) : vector(s.vector), k_(k), schedule_(s) {
  const int inner = static_cast<int>(k.axes.size()) - 1;
  flattened = vector > 1;
  for (int axis = inner; axis >= 0; --axis) {
    std::int64_t size = 1;
    bool taken = false;
    for (const Factor& f : s.axes[static_cast<std::size_t>(axis)]) {
      if (f.level == Level::grid) continue;
      taken = true;
      size *= f.size;
      if (f.level != Level::vector) continue;
      if (axis == inner) {
        flattened = false;
      } else {
        across = axis;
        rows = f.size;
      }
    }
    if (taken) axes_.push_back({axis, size});
  }
}

std::int64_t TileShape::size(int axis) const {
  const auto at = std::ranges::find(axes_, axis, &Span::axis);
  return at == axes_.end() ? 0 : at->size;
}

std::int64_t TileShape::elements() const {
  std::int64_t n = 1;
  for (const Span& s : axes_) n *= s.size;
  return n;
}

bool TileShape::is_split(int axis) const {
  return std::ranges::any_of(schedule_.axes[static_cast<std::size_t>(axis)],
                             [](const Factor& f) { return f.level == Level::grid; });
}

std::vector<Span> TileShape::order(const Affine& address) const {
  std::vector<Span> order;
  for (int axis : axes_in_memory(k_, address))
    if (size(axis) != 0) order.push_back({axis, size(axis)});
  for (const Span& s : axes_)
    if (std::ranges::find(order, s.axis, &Span::axis) == order.end()) order.push_back(s);
  return order;
}

std::vector<Digit> TileShape::digits() const {
  std::vector<Digit> digits;
  if (flattened) {
    for (const Span& s : axes_) digits.push_back({s.axis, s.size, 1});
    return digits;
  }
  const Span& inner = axes_.front();
  std::int64_t lanes = inner.size / vector;
  for (const Factor& f : schedule_.axes[static_cast<std::size_t>(inner.axis)])
    if (f.level == Level::lane) lanes = f.size;
  digits.push_back({inner.axis, lanes, vector});
  for (const Span& s : std::span(axes_).subspan(1)) {
    const int step = s.axis == across ? rows : 1;
    digits.push_back({s.axis, s.size / step, step});
  }
  if (const std::int64_t more = inner.size / vector / lanes; more > 1)
    digits.push_back({inner.axis, more, vector * lanes});
  return digits;
}

std::int64_t shared_elements(const TileShape& shape, const SharedTile& tile) {
  const std::int64_t n = shape.elements();
  return n + (tile.skew == 0 ? 0 : (n - 1) / tile.skew_every * tile.skew);
}

int read_elements(const TileShape& shape, const SharedTile& tile, const Affine& address) {
  const auto fits = [&](int elements) {
    return tile.skew == 0 || (tile.skew % elements == 0 && tile.skew_every % elements == 0);
  };
  const Span fastest = shape.order(address).front();
  if (tile.store >= 0) return 1;
  if (!shape.flattened && fastest.axis == shape.axes().front().axis && fits(shape.vector))
    return shape.vector;
  return fastest.axis == shape.across && fits(shape.rows) ? shape.rows : 1;
}

int bank_conflicts(const TileShape& shape, const SharedTile& tile, const Affine& address, int bytes) {
  constexpr int banks = 32, word = 4, warp = 32;
  const std::vector<Span> order = shape.order(address);
  const std::vector<Digit> digits = shape.digits();
  const int wide = read_elements(shape, tile, address) * bytes;
  const bool along = !shape.flattened && read_elements(shape, tile, address) == shape.vector;
  // Wider reads than a word are served to a half or a quarter of the warp at a time.
  const int lanes = warp * word / std::max(wide, word);
  int worst = 1;
  for (int k = 0; k < (along ? 1 : shape.vector); ++k)
    for (int first = 0; first < warp; first += lanes) {
      std::vector<std::set<std::int64_t>> words(banks);
      for (int lane = first; lane < first + lanes && lane < shape.units(); ++lane) {
        std::int64_t rest = shape.flattened ? std::int64_t{lane} * shape.vector + k : lane;
        std::int64_t place = 0;
        for (const Digit& d : digits) {
          std::int64_t at = rest % d.count * d.step;
          rest /= d.count;
          if (!shape.flattened && d.axis == shape.axes().front().axis && &d == &digits.front()) at += k;
          std::int64_t stride = 1;
          for (const Span& s : order) {
            if (s.axis == d.axis) break;
            stride *= s.size;
          }
          place += at * stride;
        }
        if (tile.skew != 0) place += place / tile.skew_every * tile.skew;
        for (std::int64_t byte = place * bytes; byte < place * bytes + wide; byte += word)
          words[static_cast<std::size_t>(byte / word % banks)].insert(byte / word);
      }
      for (const std::set<std::int64_t>& w : words) worst = std::max(worst, static_cast<int>(w.size()));
    }
  return worst;
}

}  // namespace sinter::codegen
