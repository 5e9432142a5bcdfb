#include "codegen/kernel.h"

#include <algorithm>
#include <utility>

#include "ir/base/check.h"

namespace sinter::codegen {

using Kind = KernelValue::Kind;

bool Kernel::has_reduction() const {
  return std::ranges::any_of(axes, &KernelAxis::reduced) ||
         std::ranges::any_of(values, [](const KernelValue& v) { return v.kind == Kind::reduce; });
}

int Kernel::innermost(bool reduced) const {
  for (std::size_t i = axes.size(); i-- > 0;)
    if (axes[i].reduced == reduced) return static_cast<int>(i);
  return -1;
}

int Kernel::segment_axis() const {
  const auto at = std::ranges::find_if(axes, &KernelAxis::in_segments);
  return at == axes.end() ? -1 : static_cast<int>(at - axes.begin());
}

bool Kernel::folds_across() const {
  return std::ranges::any_of(values, &KernelValue::across);
}

std::vector<bool> Kernel::after_all_rows() const {
  std::vector<bool> after(values.size(), false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    after[i] = values[i].across;
    for_each_operand(*this, static_cast<int>(i),
                     [&](int o) { after[i] = after[i] || after[static_cast<std::size_t>(o)]; });
  }
  return after;
}

bool Kernel::varies_along(const std::vector<int>& along, const Affine& a,
                          const std::vector<bool>& varies) const {
  return std::ranges::any_of(a.terms, [&](const Term& t) {
    const Atom& atom = atoms[t.atom];
    if (atom.kind == Atom::Kind::axis) return std::ranges::find(along, atom.number) != along.end();
    if (atom.kind == Atom::Kind::value)
      return static_cast<bool>(varies[static_cast<std::size_t>(atom.number)]);
    return varies_along(along, atom.index, varies);
  });
}

namespace {

std::vector<int> axes_of(const Kernel& k, bool reduced) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    if (k.axes[i].reduced == reduced) axes.push_back(static_cast<int>(i));
  return axes;
}

}  // namespace

std::vector<bool> Kernel::varies_along(const std::vector<int>& along) const {
  std::vector<bool> varies(values.size(), false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KernelValue& v = values[i];
    // What is folded is the same along the axes that the fold goes over.
    if (v.kind == Kind::reduce && std::ranges::none_of(along, [&](int axis) {
          return axes[static_cast<std::size_t>(axis)].reduced == v.across;
        }))
      continue;
    varies[i] = varies_along(along, v.address, varies) || varies_along(along, v.range.index, varies) ||
                (v.guard >= 0 && varies[static_cast<std::size_t>(v.guard)]) ||
                std::ranges::any_of(v.operands, [&](int o) {
                  return static_cast<bool>(varies[static_cast<std::size_t>(o)]);
                });
  }
  return varies;
}

std::vector<bool> Kernel::varies_in_row() const {
  return varies_along(axes_of(*this, true));
}

bool Kernel::varies_in_row(const Affine& a, const std::vector<bool>& in_row) const {
  return varies_along(axes_of(*this, true), a, in_row);
}

namespace {
void in_affine(const Kernel& k, const Affine& a, const std::function<void(int)>& f) {
  for (const Term& t : a.terms) {
    const Atom& atom = k.atoms[t.atom];
    if (atom.kind == Atom::Kind::value) f(atom.number);
    if (atom.kind == Atom::Kind::quotient || atom.kind == Atom::Kind::remainder) in_affine(k, atom.index, f);
  }
}
}  // namespace

void for_each_operand(const Kernel& k, int value, const std::function<void(int)>& f) {
  const KernelValue& v = k.values[static_cast<std::size_t>(value)];
  for (int o : v.operands) f(o);
  if (v.guard >= 0) f(v.guard);
  in_affine(k, v.address, f);
  in_affine(k, v.range.index, f);
}

ir::Dim Kernel::rows() const {
  ir::Dim n(1);
  for (const KernelAxis& a : axes)
    if (!a.reduced) n = n * a.extent;
  return n;
}

ir::Dim Kernel::row_length() const {
  ir::Dim n(1);
  for (const KernelAxis& a : axes)
    if (a.reduced) n = n * a.extent;
  return n;
}

namespace {

/// The guards that must all hold where a value is true.
void add_guards(const Kernel& k, int value, std::vector<const Guard*>& guards) {
  const KernelValue& v = k.values[static_cast<std::size_t>(value)];
  if (v.kind == Kind::inside) guards.push_back(&v.range);
  if (v.kind == Kind::compute && v.op == ir::Op::logical_and)
    for (int o : v.operands) add_guards(k, o, guards);
}

/// How many values of the atom the guards admit, as far as they test it alone: pad and concat read a part of
/// an axis.
ir::Dim admitted(const Atoms& atoms, int atom, const std::vector<const Guard*>& guards) {
  ir::Dim begin(0), end = atoms[atom].extent;
  for (const Guard* g : guards) {
    const ir::Dim step = g->index.factor(atom), &constant = g->index.constant;
    if (g->index.terms.size() != 1 || !(step.is(1) || step.is(-1))) continue;
    const ir::Dim from = step.is(1) ? ir::Dim(0) - constant : constant - g->length + 1, to = from + g->length;
    const bool known = begin.is_constant() && end.is_constant() && from.is_constant() && to.is_constant();
    begin = known ? ir::Dim(std::max(begin.value(), from.value())) : from;
    end = known ? ir::Dim(std::min(end.value(), to.value())) : to;
  }
  const ir::Dim count = end - begin;
  return count.is_constant() && count.value() < 0 ? ir::Dim(0) : count;
}

}  // namespace

std::vector<ir::Dim> Kernel::buffer_bytes(bool written) const {
  // Elements that an address reaches: the product of the extents of what occurs in it, or of the parts of
  // them where a guard holds; of a table that is gathered from no more than it is asked for.
  std::vector<ir::Dim> touched(buffers.size(), ir::Dim(0));
  std::vector<std::vector<bool>> varies;  // per axis: the values that do along it
  for (std::size_t i = 0; i < axes.size(); ++i) varies.push_back(varies_along({static_cast<int>(i)}));
  const auto asked = [&](const Affine& address) {
    ir::Dim times(1);
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (varies_along({static_cast<int>(i)}, address, varies[i])) times = times * axes[i].extent;
    return times;
  };
  auto touch = [&](int buffer, const Affine& address, int guard = -1) {
    std::vector<const Guard*> guards;
    if (guard >= 0) add_guards(*this, guard, guards);
    ir::Dim n(1);
    for (const Term& t : address.terms) n = n * admitted(atoms, t.atom, guards);
    const ir::Dim times = asked(address);
    if (times.is_constant() && n.is_constant() && times.value() < n.value()) n = times;
    n = n * buffers[static_cast<std::size_t>(buffer)].parts;
    ir::Dim& most = touched[static_cast<std::size_t>(buffer)];
    if (!n.is_constant() || !most.is_constant() || most.value() < n.value()) most = n;
  };
  if (written)
    for (const KernelStore& s : stores) {  // each writes elements of its own
      const ir::Dim others = std::exchange(touched[static_cast<std::size_t>(s.buffer)], ir::Dim(0));
      touch(s.buffer, s.address);
      touched[static_cast<std::size_t>(s.buffer)] = touched[static_cast<std::size_t>(s.buffer)] + others;
    }
  else
    for (const KernelValue& v : values)
      if (v.kind == Kind::load) touch(v.buffer, v.address, v.guard);
  if (const int axis = segment_axis(); axis >= 0 && !written)
    touch(axes[static_cast<std::size_t>(axis)].bounds, axes[static_cast<std::size_t>(axis)].first);
  for (const KernelValue& v : values)
    if (v.kind == Kind::search && !written) touched[static_cast<std::size_t>(v.buffer)] = v.length;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    touched[i] = touched[i] * ir::Dim(size_of(buffers[i].dtype));
  return touched;
}

ir::Dim Kernel::bytes(bool written) const {
  ir::Dim total(0);
  for (const ir::Dim& bytes : buffer_bytes(written)) total = total + bytes;
  return total;
}

bool Kernel::stores_in_row(const KernelStore& s, const std::vector<bool>& in_row) const {
  return in_row[static_cast<std::size_t>(s.value)] || varies_in_row(s.address, in_row);
}

namespace {

std::string text(const Kernel& k, const Affine& a) {
  std::string s;
  for (const Term& t : a.terms) {
    if (!s.empty()) s += " + ";
    if (!t.factor.is(1)) s += fmt::format("({})*", t.factor.str());
    const Atom& atom = k.atoms[t.atom];
    switch (atom.kind) {
      case Atom::Kind::axis:
        s += fmt::format("i{}", atom.number);
        break;
      case Atom::Kind::value:
        s += fmt::format("v{}", atom.number);
        break;
      case Atom::Kind::quotient:
        s += fmt::format("(({}) / {})", text(k, atom.index), atom.divisor.str());
        break;
      case Atom::Kind::remainder:
        s += fmt::format("(({}) % {})", text(k, atom.index), atom.divisor.str());
        break;
    }
  }
  if (s.empty()) return a.constant.str();
  return a.constant.is(0) ? s : s + " + " + a.constant.str();
}

std::string text(const Kernel& k, const KernelValue& v) {
  std::string operands;
  for (int o : v.operands) operands += fmt::format("{}v{}", operands.empty() ? "" : ", ", o);
  switch (v.kind) {
    case Kind::load:
      return fmt::format("b{}[{}]{}", v.buffer, text(k, v.address),
                         v.guard < 0 ? "" : fmt::format(" if v{}", v.guard));
    case Kind::literal:
      return fmt::format("{}", static_cast<double>(v.literal.real()));
    case Kind::index:
      return text(k, v.address);
    case Kind::inside:
      return fmt::format("{} in [0, {})", text(k, v.range.index), v.range.length.str());
    case Kind::wrap:
      return fmt::format("wrap({}, {})", operands, v.length.str());
    case Kind::within:
      return fmt::format("within({}, {})", operands, v.length.str());
    case Kind::search:
      return fmt::format("{}(b{}, {})", name(v.op), v.buffer, operands);
    case Kind::random:
      return fmt::format("random_bits({}, {})", operands, text(k, v.address));
    case Kind::compute:
    case Kind::reduce:
      break;
  }
  return fmt::format("{}({}){}", name(v.op), operands, v.across ? " across rows" : "");
}

}  // namespace

std::string Kernel::str() const {
  std::string s = name + "\n";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    s += fmt::format("  axis i{} < {}{}", i, axes[i].extent.str(), axes[i].reduced ? " (reduced)" : "");
    if (axes[i].in_segments())
      s += fmt::format(" from b{0}[{1}] to b{0}[{2}]", axes[i].bounds, text(*this, axes[i].first),
                       text(*this, axes[i].end));
    s += "\n";
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    s += fmt::format("  v{}: {} = {}\n", i, sinter::name(values[i].dtype), text(*this, values[i]));
  for (const KernelStore& st : stores)
    s += fmt::format("  b{}[{}] = v{}\n", st.buffer, text(*this, st.address), st.value);
  return s;
}

std::vector<int> made_of(const Kernel& k, int root, const std::function<bool(int)>& takes,
                         const std::function<bool(int)>& found) {
  std::vector<int> taken, stack{root};
  while (!stack.empty()) {
    const int v = stack.back();
    stack.pop_back();
    if (!takes(v) || std::ranges::find(taken, v) != taken.end()) continue;
    taken.push_back(v);
    if (!found || !found(v)) for_each_operand(k, v, [&](int o) { stack.push_back(o); });
  }
  std::ranges::sort(taken);
  return taken;
}

int take_buffer(Kernel& to, const Kernel& from, int number, std::vector<int>& taken) {
  int& copied = taken[static_cast<std::size_t>(number)];
  if (copied < 0) {
    copied = static_cast<int>(to.buffers.size());
    to.buffers.push_back(from.buffers[static_cast<std::size_t>(number)]);
  }
  return copied;
}

}  // namespace sinter::codegen
