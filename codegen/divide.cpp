#include "codegen/divide.h"

#include <algorithm>

#include "codegen/axis_parts.h"
#include "codegen/collapse.h"

namespace sinter::codegen {
namespace {

/// The part of a kernel: only what it needs, its axis counted from where the part begins.
Kernel part_of(const Kernel& k, const AxisPart& part) {
  const InParts in = in_parts(k, {&part, 1});
  Kernel result;
  result.name = k.name;
  result.axes = k.axes;
  result.atoms = k.atoms;
  result.facts = k.facts;
  result.fixed_fold_order = k.fixed_fold_order;
  result.written_run = k.written_run;
  const ir::Dim extent(part.end - part.begin);
  result.axes[static_cast<std::size_t>(part.axis)].extent = extent;
  result.atoms[part.axis].extent = extent;
  std::vector<int> number(k.values.size(), -1), buffer(k.buffers.size(), -1);
  for (std::size_t i = 0; i < in.needed.size(); ++i)
    number[static_cast<std::size_t>(in.needed[i])] = static_cast<int>(i);
  const auto of = [&](int value) {
    return number[static_cast<std::size_t>(in.stands_for[static_cast<std::size_t>(value)])];
  };
  const auto moved = [&](Affine a) {
    a.constant = a.constant + a.factor(part.axis) * ir::Dim(part.begin);
    return a;
  };
  const auto take_buffer = [&](int& b) {
    int& taken = buffer[static_cast<std::size_t>(b)];
    if (taken < 0) {
      taken = static_cast<int>(result.buffers.size());
      result.buffers.push_back(k.buffers[static_cast<std::size_t>(b)]);
    }
    b = taken;
  };
  for (int i = 0; i < result.atoms.size(); ++i) {
    Atom& atom = result.atoms[i];
    atom.index = moved(atom.index);
    if (atom.kind == Atom::Kind::value) atom.number = of(atom.number);  // -1 where no one asks any more
  }
  for (int value : in.needed) {
    KernelValue v = k.values[static_cast<std::size_t>(value)];
    v.address = moved(v.address);
    v.range.index = moved(v.range.index);
    for (int& o : v.operands) o = of(o);
    if (v.guard >= 0) v.guard = in.holds[static_cast<std::size_t>(v.guard)] ? -1 : of(v.guard);
    if (v.buffer >= 0) take_buffer(v.buffer);
    result.values.push_back(std::move(v));
  }
  for (KernelStore s : k.stores) {
    s.value = of(s.value);
    s.address = moved(s.address);
    take_buffer(s.buffer);
    result.stores.push_back(std::move(s));
  }
  return collapse(std::move(result));
}

/// Bytes that lie without gaps in each result where one index of the axis is written.
std::int64_t bytes_of_index(const Kernel& k, int axis) {
  std::int64_t bytes = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < k.axes.size(); ++i)
    bytes *= k.axes[i].extent.is_constant() ? k.axes[i].extent.value() : 1;
  return bytes * size_of(k.buffers[static_cast<std::size_t>(k.stores[0].buffer)].dtype);
}

}  // namespace

std::vector<Kernel> divide(const Kernel& k, int most) {
  constexpr std::int64_t long_run = 1024;  // bytes that are worth a kernel
  if (k.has_reduction() || k.stores.empty()) return {k};
  std::vector<int> all(k.values.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  std::vector<std::int64_t> borders;
  int axis = -1;
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    if (std::vector<std::int64_t> found = borders_along(k, static_cast<int>(i), all);
        found.size() > borders.size()) {
      borders = std::move(found);
      axis = static_cast<int>(i);
    }
  if (static_cast<int>(borders.size()) < most) return {k};
  borders.push_back(k.axes[static_cast<std::size_t>(axis)].extent.value());
  const std::int64_t bytes = bytes_of_index(k, axis);
  std::vector<Kernel> kernels;
  std::int64_t begin = 0, previous = 0;
  int parts = 0;
  for (std::size_t i = 0; i < borders.size(); ++i) {
    const bool is_long = (borders[i] - previous) * bytes >= long_run;
    const bool next_is_long = i + 1 < borders.size() && (borders[i + 1] - borders[i]) * bytes >= long_run;
    previous = borders[i];
    if (++parts < most && !is_long && !next_is_long && i + 1 < borders.size()) continue;
    kernels.push_back(part_of(k, {axis, begin, borders[i]}));
    begin = borders[i];
    parts = 0;
  }
  return kernels;
}

}  // namespace sinter::codegen
