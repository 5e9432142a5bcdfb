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
    s.in_part = true;
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

/// Where kernels along an axis end.
struct Division {
  int axis = -1;
  int parts = 1;  // that differ in what is read
  std::vector<std::int64_t> ends;
};

/// What a kernel's text may have.
bool is_small(const Kernel& k, const AxisPart& part) {
  constexpr std::size_t most_values = 256;
  constexpr int most_loads = 32;
  const InParts in = in_parts(k, {&part, 1});
  const auto loads = std::ranges::count_if(in.needed, [&](int v) {
    return k.values[static_cast<std::size_t>(v)].kind == KernelValue::Kind::load;
  });
  return in.needed.size() <= most_values && loads <= most_loads;
}

/// One long part for each, or up to `most` short ones.
Division division_of(const Kernel& k, Backend backend) {
  const bool gpu = backend == Backend::cuda;
  const std::int64_t long_run = gpu ? 128 : 1024;  // bytes that are worth a kernel
  constexpr int most = 8;
  Division division;
  if (k.has_reduction() || k.stores.empty()) return division;
  std::vector<int> all(k.values.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  std::vector<std::int64_t> borders;
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    if (std::vector<std::int64_t> found = borders_along(k, static_cast<int>(i), all);
        found.size() > borders.size()) {
      borders = std::move(found);
      division.axis = static_cast<int>(i);
    }
  if (division.axis < 0) return division;
  borders.push_back(k.axes[static_cast<std::size_t>(division.axis)].extent.value());
  division.parts = static_cast<int>(borders.size());
  const std::int64_t bytes = bytes_of_index(k, division.axis);
  std::int64_t begin = 0, previous = 0;
  int parts = 0;
  for (std::size_t i = 0; i < borders.size(); ++i) {
    const bool is_last = i + 1 == borders.size();
    const bool is_long = (borders[i] - previous) * bytes >= long_run;
    const bool next_is_long = !is_last && (borders[i + 1] - borders[i]) * bytes >= long_run;
    previous = borders[i];
    if (++parts < most && !is_long && !next_is_long && !is_last &&
        is_small(k, {division.axis, begin, borders[i + 1]}))
      continue;
    division.ends.push_back(borders[i]);
    begin = borders[i];
    parts = 0;
  }
  return division;
}

std::vector<Kernel> kernels_of(const Kernel& k, const Division& division) {
  std::vector<Kernel> kernels;
  std::int64_t begin = 0;
  for (std::int64_t end : division.ends) {
    kernels.push_back(part_of(k, {division.axis, begin, end}));
    begin = end;
  }
  return kernels;
}

}  // namespace

int most_joined(Backend backend) {
  return backend == Backend::cuda ? 16 : 8;
}

std::vector<Kernel> divide(const Kernel& k, Backend backend) {
  const Division division = division_of(k, backend);
  if (division.ends.size() <= 1) return {k};
  return kernels_of(k, division);
}

std::vector<Kernel> divide_few(const Kernel& k, Backend backend) {
  constexpr std::int64_t least_bytes = 16 << 20;  // less takes about as long as two launches
  constexpr int few = 8;                          // of more the text takes long to compile
  const ir::Dim read = k.bytes(false), written = k.bytes(true);
  if (backend == Backend::cpu || k.stores.empty() || !read.is_constant() || !written.is_constant())
    return {k};
  const Division division = division_of(k, backend);
  const int parts = division.parts;
  const bool small = parts <= few && read.value() + written.value() < least_bytes;
  const int element_bytes = size_of(k.buffers[static_cast<std::size_t>(k.stores[0].buffer)].dtype);
  if (small || parts <= element_bytes || parts > most_joined(backend) || division.ends.size() <= 1)
    return {k};
  std::vector<Kernel> kernels = kernels_of(k, division);
  std::int64_t apart = 0;
  for (const Kernel& part : kernels) apart += part.bytes(false).value();
  if (apart > read.value() + read.value() / 16) return {k};
  return kernels;
}

}  // namespace sinter::codegen
