#include "codegen/tile.h"

#include <algorithm>
#include <set>

namespace sinter::codegen {

TileShape::TileShape(const Kernel& k, const Schedule& s) : vector(s.vector), k_(k), schedule_(s) {
  const int innermost = static_cast<int>(k.axes.size()) - 1, lead = s.lead >= 0 ? s.lead : innermost;
  flattened = vector > 1;
  std::vector<int> order{lead};
  for (int axis = innermost; axis >= 0; --axis)
    if (axis != lead) order.push_back(axis);
  for (int axis : order) {
    std::int64_t size = 1;
    bool taken = false;
    for (const Factor& f : s.axes[static_cast<std::size_t>(axis)]) {
      if (f.level == Level::grid) continue;
      taken = true;
      size *= f.size;
      if (f.level != Level::vector) continue;
      if (axis == lead) {
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
  for (const Span& s : axes_) {
    const int step = s.axis == axes_.front().axis ? vector : s.axis == across ? rows : 1;
    digits.push_back({s.axis, s.size / step, step});
  }
  return digits;
}

std::int64_t shared_elements(const TileShape& shape, const SharedTile& tile) {
  const std::int64_t n = shape.elements();
  return n + (tile.skew == 0 ? 0 : (n - 1) / tile.skew_every * tile.skew);
}

Reach reach_of(const TileShape& shape, const SharedTile& tile, const Affine& address, int bytes) {
  constexpr int widest = 16;
  if (shape.flattened) return Reach::one;
  const auto fits = [&](int access, int elements) {
    return tile.skew == 0 || (tile.skew % access == 0 && tile.skew_every % elements == 0);
  };
  const std::vector<Span> order = shape.order(address);
  const int lead = shape.axes().front().axis;
  if (order.front().axis == lead)
    return shape.vector > 1 && fits(shape.vector, shape.vector) ? Reach::vector : Reach::one;
  const bool block = order.front().axis == shape.across && order.front().size == shape.rows &&
                     order[1].axis == lead && shape.vector * bytes == widest &&
                     fits(shape.vector, shape.vector * shape.rows);
  return block ? Reach::block : Reach::one;
}

int reach_elements(const TileShape& shape, Reach reach) {
  return reach == Reach::one ? 1 : shape.vector;
}

int bank_conflicts(const TileShape& shape, const SharedTile& tile, const Affine& address, int bytes) {
  constexpr int banks = 32, word = 4, warp = 32;
  const std::vector<Span> order = shape.order(address);
  const std::vector<Digit> digits = shape.digits();
  const Reach reach = reach_of(shape, tile, address, bytes);
  const int wide = reach_elements(shape, reach) * bytes;
  // Accesses wider than a word are served to a half or a quarter of the warp at a time.
  const int lanes = warp * word / std::max(wide, word);
  const int accesses = reach == Reach::vector ? 1 : reach == Reach::block ? shape.rows : shape.vector;
  const auto place_of = [&](int lane, int access) {
    std::int64_t rest = shape.flattened ? std::int64_t{lane} * shape.vector + access : lane, place = 0;
    for (const Digit& d : digits) {
      std::int64_t stride = 1;
      for (const Span& s : order) {
        if (s.axis == d.axis) break;
        stride *= s.size;
      }
      place += rest % d.count * d.step * stride;
      rest /= d.count;
      if (!shape.flattened && reach == Reach::one && &d == &digits.front()) place += access * stride;
    }
    if (reach == Reach::block) place += std::int64_t{access} * shape.vector;
    return tile.skew == 0 ? place : place + place / tile.skew_every * tile.skew;
  };
  int worst = 1;
  for (int access = 0; access < accesses; ++access)
    for (int first = 0; first < warp; first += lanes) {
      std::vector<std::set<std::int64_t>> words(banks);
      for (int lane = first; lane < first + lanes && lane < shape.units(); ++lane) {
        const std::int64_t place = place_of(lane, access) * bytes;
        for (std::int64_t byte = place; byte < place + wide; byte += word)
          words[static_cast<std::size_t>(byte / word % banks)].insert(byte / word);
      }
      for (const std::set<std::int64_t>& w : words) worst = std::max(worst, static_cast<int>(w.size()));
    }
  return worst;
}

}  // namespace sinter::codegen
