#include "codegen/collapse.h"

#include <algorithm>
#include <functional>

namespace sinter::codegen {
namespace {

/// Calls `f` for every affine of the kernel that can hold axes.
void for_each_affine(Kernel& k, const std::function<void(Affine&)>& f) {
  for (KernelValue& v : k.values) {
    f(v.address);
    f(v.range.index);
  }
  for (KernelStore& s : k.stores) f(s.address);
  for (KernelAxis& a : k.axes) {
    f(a.first);
    f(a.end);
  }
  for (int i = 0; i < k.atoms.size(); ++i) f(k.atoms[i].index);
}

/// A reduction over several axes numbers its elements row-major over them, which joining keeps; a position
/// that argmax reports is that number, too.
bool joinable(Kernel& k, int outer, int inner) {
  if (k.axes[static_cast<std::size_t>(outer)].reduced != k.axes[static_cast<std::size_t>(inner)].reduced)
    return false;
  const ir::Dim& length = k.axes[static_cast<std::size_t>(inner)].extent;
  bool fits = true;
  for_each_affine(k, [&](Affine& a) { fits = fits && a.factor(outer) == a.factor(inner) * length; });
  return fits;
}

void remove_terms(Kernel& k, int axis) {
  for_each_affine(k,
                  [&](Affine& a) { std::erase_if(a.terms, [&](const Term& t) { return t.atom == axis; }); });
}

}  // namespace

Kernel collapse(Kernel k) {
  const int count = static_cast<int>(k.axes.size());
  std::vector<bool> gone(k.axes.size(), false);
  int inner = -1;  // the innermost axis still there that the next outer one may join
  for (int axis = count - 1; axis >= 0; --axis) {
    KernelAxis& a = k.axes[static_cast<std::size_t>(axis)];
    if (a.extent.is(1)) {
      remove_terms(k, axis);
      gone[static_cast<std::size_t>(axis)] = true;
      continue;
    }
    if (inner >= 0 && joinable(k, axis, inner)) {
      remove_terms(k, axis);
      gone[static_cast<std::size_t>(axis)] = true;
      ir::Dim& extent = k.axes[static_cast<std::size_t>(inner)].extent;
      extent = a.extent * extent;
      k.atoms[inner].extent = extent;
      continue;
    }
    inner = axis;
  }
  // Renumber: the axes that stay first, then the other atoms.
  std::vector<int> number(static_cast<std::size_t>(k.atoms.size()), 0);
  Atoms atoms;
  for (int i = 0; i < count; ++i)
    if (!gone[static_cast<std::size_t>(i)])
      number[static_cast<std::size_t>(i)] = atoms.axis(k.axes[static_cast<std::size_t>(i)].extent);
  const int shift = atoms.size() - count;
  for (int i = count; i < k.atoms.size(); ++i) number[static_cast<std::size_t>(i)] = i + shift;
  for_each_affine(k, [&](Affine& a) {
    for (Term& t : a.terms) t.atom = number[static_cast<std::size_t>(t.atom)];
    std::ranges::sort(a.terms, {}, &Term::atom);
  });
  for (int i = count; i < k.atoms.size(); ++i) atoms.append(k.atoms[i]);
  k.atoms = std::move(atoms);
  std::vector<KernelAxis> axes;
  for (int i = 0; i < count; ++i)
    if (!gone[static_cast<std::size_t>(i)]) axes.push_back(std::move(k.axes[static_cast<std::size_t>(i)]));
  k.axes = std::move(axes);
  return k;
}

}  // namespace sinter::codegen
