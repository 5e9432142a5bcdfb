#include "codegen/access.h"

#include <algorithm>
#include <numeric>

#include "codegen/axis_parts.h"

namespace sinter::codegen {
namespace {

bool of_axes(const Kernel& k, const Affine& address) {
  return std::ranges::all_of(address.terms,
                             [&](const Term& t) { return k.atoms[t.atom].kind == Atom::Kind::axis; });
}

/// The most elements of up to `bytes` bytes together whose number is a power of two that divides `divisor`,
/// the buffer's alignment and the address's constant.
int widest(const Kernel& k, const KernelBuffer& b, const Affine& address, std::int64_t divisor, int bytes) {
  divisor = std::gcd(divisor, b.alignment / size_of(b.dtype));
  divisor = std::gcd(divisor, address.constant.known_divisor(k.facts));  // gcd(d, 0) is d
  int elements = bytes / size_of(b.dtype);
  while (elements > 1 && divisor % elements != 0) elements /= 2;
  return elements;
}

/// Whether a guard may change between neighbours along the axis that begin at a multiple of `step`, which are
/// so many. Borders of what is joined or padded often lie at such multiples.
bool changes_within(const Kernel& k, int guard, int axis, std::int64_t step,
                    const std::vector<bool>& varies) {
  if (guard < 0 || !varies[static_cast<std::size_t>(guard)]) return false;
  const KernelValue& v = k.values[static_cast<std::size_t>(guard)];
  if (v.kind == KernelValue::Kind::inside) {
    const std::optional<AxisPart> holds = where_it_holds(k, v.range);
    return !holds || holds->axis != axis || holds->begin % step != 0 || holds->end % step != 0;
  }
  if (v.kind != KernelValue::Kind::compute || v.op != ir::Op::logical_and) return true;
  return std::ranges::any_of(v.operands, [&](int o) { return changes_within(k, o, axis, step, varies); });
}

}  // namespace

bool is_dense_along(const Kernel& k, const Affine& address, int axis) {
  return address.factor(axis).is(1) && of_axes(k, address);
}

int access_elements(const Kernel& k, int buffer, const Affine& address, int axis, std::int64_t step,
                    int bytes, const Affine& start) {
  const Affine beyond = address + start * ir::Dim(-1);
  std::int64_t divisor = step;
  for (const Term& t : beyond.terms)
    if (t.atom != axis) divisor = std::gcd(divisor, t.factor.known_divisor(k.facts));
  return widest(k, k.buffers[static_cast<std::size_t>(buffer)], beyond, divisor, bytes);
}

int load_elements(const Kernel& k, int value, int axis, const std::vector<bool>& varies, std::int64_t step,
                  int bytes, const Affine& start) {
  const KernelValue& v = k.values[static_cast<std::size_t>(value)];
  // Rows need not begin where vectors of their tensors do.
  const bool splits = k.has_reduction() ? v.guard >= 0 && varies[static_cast<std::size_t>(v.guard)]
                                        : changes_within(k, v.guard, axis, step, varies);
  if (!v.address.factor(axis).is(1) || splits) return 0;
  Affine rest = v.address;
  std::erase_if(rest.terms, [&](const Term& t) { return t.atom == axis; });
  return k.varies_along({axis}, rest, varies)
             ? 0
             : access_elements(k, v.buffer, v.address, axis, step, bytes, start);
}

std::vector<int> needed_by_load(const Kernel& k, int load) {
  std::vector<int> needed = made_of(k, load, [](int) { return true; });
  std::erase(needed, load);
  return needed;
}

std::vector<int> axes_in_memory(const Kernel& k, const Affine& address) {
  std::vector<int> axes;
  std::int64_t run = 1;
  for (bool longer = true; longer;) {
    longer = false;
    for (int axis = static_cast<int>(k.axes.size()) - 1; axis >= 0 && !longer; --axis) {
      const ir::Dim gap = address.factor(axis);
      if (!(gap.is(run) || gap.is(-run)) || std::ranges::find(axes, axis) != axes.end()) continue;
      axes.push_back(axis);
      const ir::Dim& extent = k.axes[static_cast<std::size_t>(axis)].extent;
      if (!extent.is_constant()) return axes;
      run *= extent.value();
      longer = true;
    }
  }
  return axes;
}

namespace {

/// The first axes of a tile that lie without gaps: whole ones, and perhaps the part of one more.
std::size_t axes_of_run(const Kernel& k, const Affine& address, std::span<const Span> order) {
  std::size_t count = 0;
  std::int64_t run = 1;
  for (bool whole = true; whole && count < order.size() && address.factor(order[count].axis).is(run);
       ++count) {
    whole = k.axes[static_cast<std::size_t>(order[count].axis)].extent.is(order[count].size);
    run *= order[count].size;
  }
  return count;
}

}  // namespace

std::int64_t run_in_tile(const Kernel& k, const Affine& address, std::span<const Span> order) {
  std::int64_t run = 1;
  if (of_axes(k, address))
    for (const Span& s : order.first(axes_of_run(k, address, order))) run *= s.size;
  return run;
}

int access_in_tile(const Kernel& k, int buffer, const Affine& address, std::span<const Span> order,
                   int bytes) {
  if (!of_axes(k, address)) return 1;
  const std::span<const Span> dense = order.first(axes_of_run(k, address, order));
  const std::int64_t run = run_in_tile(k, address, order);
  std::int64_t divisor = run;
  if (!dense.empty()) {  // the last of a run's axes may end within a tile
    const Span& last = dense.back();
    const ir::Dim& extent = k.axes[static_cast<std::size_t>(last.axis)].extent;
    divisor = std::gcd(divisor, run / last.size * extent.known_divisor(k.facts));
  }
  for (const Term& t : address.terms)
    if (std::ranges::find(dense, t.atom, &Span::axis) == dense.end())
      divisor = std::gcd(divisor, t.factor.known_divisor(k.facts));
  return widest(k, k.buffers[static_cast<std::size_t>(buffer)], address, divisor, bytes);
}

int vector_elements(const Kernel& k, int axis, int bytes) {
  const std::int64_t extent = k.axes[static_cast<std::size_t>(axis)].extent.known_divisor(k.facts);
  const std::vector<bool> varies = k.varies_along({axis});
  int most = 1;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    if (k.values[v].kind == KernelValue::Kind::load)
      most = std::max(most, load_elements(k, static_cast<int>(v), axis, varies, extent, bytes));
  for (const KernelStore& s : k.stores)
    if (is_dense_along(k, s.address, axis))
      most = std::max(most, access_elements(k, s.buffer, s.address, axis, extent, bytes));
  return most;
}

bool is_same_for_rows(const Kernel& k, int value) {
  const KernelValue& x = k.values[static_cast<std::size_t>(value)];
  return x.kind == KernelValue::Kind::load && x.guard < 0 &&
         std::ranges::all_of(x.address.terms, [&](const Term& t) {
           const Atom& atom = k.atoms[t.atom];
           return atom.kind == Atom::Kind::axis && k.axes[static_cast<std::size_t>(atom.number)].reduced;
         });
}

namespace {

/// Whether the elements of a row lie side by side, in the order of the axes that are folded, and nothing
/// guards or writes them.
bool is_plain_row(const Kernel& k, const KernelValue& x) {
  if (x.kind != KernelValue::Kind::load || x.guard >= 0 || !of_axes(k, x.address) ||
      k.buffers[static_cast<std::size_t>(x.buffer)].written)
    return false;
  ir::Dim step(1);
  for (std::size_t i = k.axes.size(); i-- > 0;) {
    if (!k.axes[i].reduced) continue;
    if (!(x.address.factor(static_cast<int>(i)) == step)) return false;
    step = step * k.axes[i].extent;
  }
  return true;
}

}  // namespace

Affine begin_of_row(const Kernel& k, Affine address) {
  std::erase_if(address.terms,
                [&](const Term& t) { return k.axes[static_cast<std::size_t>(t.atom)].reduced; });
  return address;
}

bool copies_in_bulk(const Kernel& k, int value, const RowVectors& vectors) {
  const KernelValue& x = k.values[static_cast<std::size_t>(value)];
  if (!is_plain_row(k, x)) return false;
  const std::int64_t step = vectors.skewed ? vectors.elements : k.row_length().value();
  return access_elements(k, x.buffer, begin_of_row(k, x.address), k.innermost(true), step, bulk_copy_bytes,
                         vectors.start()) *
             size_of(x.dtype) ==
         bulk_copy_bytes;
}

bool copies_with_neighbours(const Kernel& k, int value) {
  const KernelValue& x = k.values[static_cast<std::size_t>(value)];
  if (!is_plain_row(k, x) || k.buffers[static_cast<std::size_t>(x.buffer)].alignment % bulk_copy_bytes != 0)
    return false;
  // No other row ends where the last one does.
  for (std::size_t i = 0; i < k.axes.size(); ++i) {
    const ir::Dim step = x.address.factor(static_cast<int>(i));
    const std::int64_t least = k.axes[i].reduced ? 0 : bulk_copy_bytes / size_of(x.dtype);
    if (!k.axes[i].extent.is(1) && (!step.is_constant() || step.value() < least)) return false;
  }
  return true;
}

std::int64_t places_of_copy(const Kernel& k, int value) {
  const std::int64_t length = k.row_length().value();
  if (copies_in_bulk(k, value, {})) return length;
  const int step = bulk_copy_bytes / size_of(k.values[static_cast<std::size_t>(value)].dtype);
  return (length + step - 1) / step * step + step;
}

}  // namespace sinter::codegen
