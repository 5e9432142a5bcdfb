#include "codegen/index_map.h"

#include <algorithm>

#include "ir/base/check.h"

namespace sinter::codegen {

using ir::Dim;
using ir::Op;
using ir::Shape;

Dim Affine::factor(int atom) const {
  for (const Term& t : terms)
    if (t.atom == atom) return t.factor;
  return 0;
}

std::size_t Affine::hash() const {
  std::size_t h = constant.hash();
  for (const Term& t : terms)
    h = (h * 31 + static_cast<std::size_t>(t.atom)) * 0x9e3779b97f4a7c15u + t.factor.hash();
  return h;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum = a;
  sum.constant = sum.constant + b.constant;
  for (const Term& t : b.terms) {
    auto at = std::ranges::lower_bound(sum.terms, t.atom, {}, &Term::atom);
    if (at != sum.terms.end() && at->atom == t.atom) {
      at->factor = at->factor + t.factor;
      if (at->factor.is(0)) sum.terms.erase(at);
    } else {
      sum.terms.insert(at, t);
    }
  }
  return sum;
}

Affine operator*(const Affine& a, const Dim& factor) {
  if (factor.is(0)) return Affine::of(0);
  Affine product = a;
  product.constant = product.constant * factor;
  for (Term& t : product.terms) t.factor = t.factor * factor;
  return product;
}

int Atoms::axis(Dim extent) {
  atoms_.push_back({Atom::Kind::axis, size(), {}, {}, std::move(extent)});
  return size() - 1;
}

int Atoms::value(int value, Dim extent) {
  return intern({Atom::Kind::value, value, {}, {}, std::move(extent)});
}

int Atoms::intern(Atom atom) {
  const auto at = std::ranges::find(atoms_, atom);
  if (at != atoms_.end()) return static_cast<int>(at - atoms_.begin());
  atoms_.push_back(std::move(atom));
  return size() - 1;
}

bool Atoms::split(const Affine& index, const Dim& divisor, Affine& divided, Affine& rest) const {
  divided = Affine::of(0);
  rest = Affine::of(0);
  Dim greatest(0);  // of the rest
  for (const Term& t : index.terms) {
    if (const std::optional<Dim> factor = t.factor.divided_by(divisor)) {
      divided.terms.push_back({t.atom, *factor});
      continue;
    }
    if (!t.factor.is_constant() || t.factor.value() < 0 || !(*this)[t.atom].extent.is_constant())
      return false;
    rest.terms.push_back(t);
    greatest = greatest + t.factor * ((*this)[t.atom].extent - 1);
  }
  if (const std::optional<Dim> whole = index.constant.divided_by(divisor)) {
    divided.constant = *whole;
  } else {
    if (!index.constant.is_constant() || index.constant.value() < 0) return false;
    rest.constant = index.constant;
    greatest = greatest + index.constant;
  }
  if (rest.terms.empty() && rest.constant.is(0)) return true;
  return divisor.is_constant() && greatest.is_constant() && greatest.value() < divisor.value();
}

Affine Atoms::quotient(const Affine& index, const Dim& divisor, const Dim& extent) {
  if (divisor.is(1)) return index;
  Affine divided, rest;
  if (split(index, divisor, divided, rest)) return divided;
  return Affine::atom(intern({Atom::Kind::quotient, 0, index, divisor, extent}));
}

Affine Atoms::remainder(const Affine& index, const Dim& divisor) {
  if (divisor.is(1)) return Affine::of(0);
  Affine divided, rest;
  if (split(index, divisor, divided, rest)) return rest;
  return Affine::atom(intern({Atom::Kind::remainder, 0, index, divisor, divisor}));
}

namespace {

/// Splits `line`, an index in [0, product of lengths), over axes of these lengths.
void unravel(const Affine& line, const std::vector<Dim>& lengths, Atoms& atoms, std::vector<Affine>& into) {
  Dim stride(1), left(1);
  for (const Dim& d : lengths) left = left * d;
  std::vector<Affine> reversed;
  for (std::size_t i = lengths.size(); i-- > 0;) {
    const std::optional<Dim> outer = left.divided_by(lengths[i]);
    const Affine above = atoms.quotient(line, stride, left);
    reversed.push_back(i == 0 ? above : atoms.remainder(above, lengths[i]));
    stride = stride * lengths[i];
    left = outer.value_or(left);
  }
  into.insert(into.end(), reversed.rbegin(), reversed.rend());
}

/// Runs of axes of both shapes that hold equally many elements; each run is unravelled by itself.
IndexMap reshaped_index(const Shape& from, const Shape& to, const IndexMap& map, Atoms& atoms) {
  IndexMap result;
  if (from.is_empty()) return IndexMap(static_cast<std::size_t>(from.rank()), Affine::of(0));
  int i = 0, j = 0;
  while (i < from.rank() || j < to.rank()) {
    Dim have(1), want(1);
    std::vector<Dim> lengths;
    Affine line = Affine::of(0);
    auto take_from = [&] {
      have = have * from[i];
      lengths.push_back(from[i++]);
    };
    auto take_to = [&] {
      line = line * to[j] + map[static_cast<std::size_t>(j)];
      want = want * to[j++];
    };
    if (i < from.rank()) take_from();
    if (j < to.rank()) take_to();
    while (!(have == want)) {
      // Grow the side with fewer elements; with symbols that do not compare, take what is left of both.
      const bool known = have.is_constant() && want.is_constant();
      const bool grow_from = known ? have.value() < want.value() : want.divided_by(have).has_value();
      if (i < from.rank() && (grow_from || j == to.rank()))
        take_from();
      else if (j < to.rank())
        take_to();
      else
        fail<InternalError>("reshape from {} to {} does not hold as many elements", from.str(), to.str());
    }
    unravel(line, lengths, atoms, result);
  }
  return result;
}

}  // namespace

IndexMap operand_index(const ir::Graph& g, ir::Value node, const IndexMap& map, Atoms& atoms) {
  const Shape &from = g.shape(g.operands(node)[0]), &to = g.shape(node);
  const ir::Attrs& attrs = g.attrs(node);
  const Op op = g.op(node);
  if (op == Op::reshape) return reshaped_index(from, to, map, atoms);
  IndexMap result(static_cast<std::size_t>(from.rank()), Affine::of(0));
  for (int i = 0; i < from.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (op == Op::broadcast_to) {
      if (!from[i].is(1)) result[k] = map[k + static_cast<std::size_t>(to.rank() - from.rank())];
    } else if (op == Op::permute_dims) {
      result[k] = map[static_cast<std::size_t>(std::ranges::find(attrs.axes, i) - attrs.axes.begin())];
    } else if (op == Op::slice) {
      result[k] = map[k] * Dim(attrs.steps[k]) + Affine::of(attrs.starts[k]);
    } else {
      SINTER_ASSERT(op == Op::flip, "{} has no plain index map", name(op));
      const bool turned = std::ranges::find(attrs.axes, i) != attrs.axes.end();
      result[k] = turned ? map[k] * Dim(-1) + Affine::of(from[i] - 1) : map[k];
    }
  }
  return result;
}

}  // namespace sinter::codegen
