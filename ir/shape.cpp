#include "ir/shape.h"

#include <algorithm>

#include "ir/base/check.h"

namespace sinter::ir {

Dim Shape::elements() const {
  if (is_empty()) return 0;  // before the product, which could overflow
  Dim n(1);
  for (const Dim& d : dims_) n = n * d;
  return n;
}

bool Shape::is_constant() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.is_constant(); });
}

bool Shape::is_empty() const {
  return std::any_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.is(0); });
}

std::vector<std::int64_t> Shape::values() const {
  std::vector<std::int64_t> v;
  v.reserve(dims_.size());
  for (const Dim& d : dims_) v.push_back(d.value());
  return v;
}

Shape Shape::bind(const Bindings& values) const {
  Shape s;
  for (const Dim& d : dims_) s.push_back(d.bind(values));
  return s;
}

std::string Shape::str() const {
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) text += (i ? ", " : "") + dims_[i].str();
  return text + "]";
}

std::size_t Shape::hash() const {
  std::size_t h = dims_.size();
  for (const Dim& d : dims_) h = h * 0x9e3779b97f4a7c15u + d.hash();
  return h;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view what) {
  Shape result;
  const int rank = std::max(a.rank(), b.rank());
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const Dim da = ia < 0 ? Dim(1) : a[ia], db = ib < 0 ? Dim(1) : b[ib];
    if (da == db || db.is(1))
      result.push_back(da);
    else if (da.is(1))
      result.push_back(db);
    else
      fail<ShapeError>(
          "{}: shapes {} and {} do not broadcast: axis {} has length {} in one and {} in the other; "
          "lengths must be equal, or one of them 1",
          what, a.str(), b.str(), i - rank, da.str(), db.str());
  }
  return result;
}

int normalize_axis(std::int64_t axis, int rank, std::string_view what) {
  if (axis < -rank || axis >= rank)
    fail<ShapeError>("{}: axis {} is out of range for a tensor of rank {}; axes go from {} to {}", what, axis,
                     rank, -rank, rank - 1);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace sinter::ir
