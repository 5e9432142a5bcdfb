#include "codegen/axis_parts.h"

#include <algorithm>

namespace sinter::codegen {

std::optional<AxisPart> where_it_holds(const Kernel& k, const Guard& g) {
  if (g.index.terms.size() != 1 || !g.index.constant.is_constant() || !g.length.is_constant()) return {};
  const Term& t = g.index.terms[0];
  const Atom& atom = k.atoms[t.atom];
  if (atom.kind != Atom::Kind::axis || !atom.extent.is_constant()) return {};
  const std::int64_t constant = g.index.constant.value(), length = g.length.value();
  std::int64_t begin = -constant;
  if (t.factor.is(-1))
    begin = constant - length + 1;
  else if (!t.factor.is(1))
    return {};
  const std::int64_t extent = atom.extent.value();
  return AxisPart{atom.number, std::clamp<std::int64_t>(begin, 0, extent),
                  std::clamp<std::int64_t>(begin + length, 0, extent)};
}

namespace {

using Kind = KernelValue::Kind;

/// Whether the guard holds all over the parts, or nowhere there; nothing where it depends.
std::optional<bool> truth(const Kernel& k, const Guard& g, std::span<const AxisPart> parts) {
  const std::optional<AxisPart> holds = where_it_holds(k, g);
  if (!holds) return {};
  for (const AxisPart& p : parts) {
    if (p.axis != holds->axis) continue;
    if (holds->begin <= p.begin && p.end <= holds->end) return true;
    if (p.end <= holds->begin || holds->end <= p.begin) return false;
  }
  return {};
}

}  // namespace

InParts in_parts(const Kernel& k, std::span<const AxisPart> parts) {
  InParts in;
  std::vector<std::optional<bool>> known(k.values.size());
  // What is read under a guard that does not hold, and what comes of it: no selection takes it.
  std::vector<bool> nothing(k.values.size(), false);
  in.stands_for.resize(k.values.size());
  for (std::size_t i = 0; i < k.values.size(); ++i) {
    const KernelValue& v = k.values[i];
    int& same = in.stands_for[i] = static_cast<int>(i);
    const auto operand = [&](std::size_t n) {
      return in.stands_for[static_cast<std::size_t>(v.operands[n])];
    };
    const auto truth_of = [&](std::size_t n) { return known[static_cast<std::size_t>(v.operands[n])]; };
    const auto is_nothing = [&](int o) {
      return static_cast<bool>(nothing[static_cast<std::size_t>(in.stands_for[static_cast<std::size_t>(o)])]);
    };
    const bool selects = v.kind == Kind::compute && v.op == ir::Op::where;
    if (selects)
      nothing[i] = is_nothing(v.operands[0]) || (is_nothing(v.operands[1]) && is_nothing(v.operands[2]));
    else
      for_each_operand(k, static_cast<int>(i), [&](int o) { nothing[i] = nothing[i] || is_nothing(o); });
    if (v.guard >= 0 && known[static_cast<std::size_t>(v.guard)] == false) nothing[i] = true;
    if (v.kind == Kind::inside) known[i] = truth(k, v.range, parts);
    if (v.kind != Kind::compute) continue;
    if (selects && truth_of(0)) same = operand(*truth_of(0) ? 1 : 2);
    if (selects && !truth_of(0) && is_nothing(v.operands[2])) same = operand(1);
    if (v.op == ir::Op::logical_and)
      for (std::size_t n : {0, 1}) {
        if (!truth_of(n)) continue;
        known[i] = *truth_of(n) ? truth_of(1 - n) : false;
        if (*truth_of(n)) same = operand(1 - n);
      }
  }
  in.holds.resize(k.values.size());
  for (std::size_t i = 0; i < known.size(); ++i) in.holds[i] = known[i].value_or(false);
  std::vector<bool> found(k.values.size(), false);
  std::vector<int> pending;
  const auto need = [&](int value) {
    const auto v = static_cast<std::size_t>(in.stands_for[static_cast<std::size_t>(value)]);
    if (!found[v]) pending.push_back(static_cast<int>(v));
    found[v] = true;
  };
  for (const KernelStore& s : k.stores) need(s.value);
  while (!pending.empty()) {
    const int value = pending.back();
    pending.pop_back();
    const int guard = k.values[static_cast<std::size_t>(value)].guard;
    for_each_operand(k, value, [&](int o) {
      if (o != guard || !in.holds[static_cast<std::size_t>(o)]) need(o);
    });
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i]) in.needed.push_back(static_cast<int>(i));
  return in;
}

std::vector<std::int64_t> borders_along(const Kernel& k, int axis, std::span<const int> needed) {
  std::vector<std::int64_t> borders;
  for (int value : needed) {
    const KernelValue& v = k.values[static_cast<std::size_t>(value)];
    if (v.kind != Kind::inside) continue;
    const std::optional<AxisPart> holds = where_it_holds(k, v.range);
    if (!holds || holds->axis != axis) continue;
    const std::int64_t extent = k.axes[static_cast<std::size_t>(axis)].extent.value();
    for (std::int64_t border : {holds->begin, holds->end})
      if (border > 0 && border < extent) borders.push_back(border);
  }
  std::ranges::sort(borders);
  borders.erase(std::ranges::unique(borders).begin(), borders.end());
  return borders;
}

Kernel as_in(const Kernel& kernel, const InParts& in) {
  Kernel k = kernel;
  const auto same = [&](int value) { return in.stands_for[static_cast<std::size_t>(value)]; };
  for (int value : in.needed) {
    KernelValue& v = k.values[static_cast<std::size_t>(value)];
    for (int& o : v.operands) o = same(o);
    if (v.guard < 0) continue;
    v.guard = in.holds[static_cast<std::size_t>(v.guard)] ? -1 : same(v.guard);
  }
  for (KernelStore& s : k.stores) s.value = same(s.value);
  return k;
}

}  // namespace sinter::codegen
