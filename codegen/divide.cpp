#include "codegen/divide.h"

#include <algorithm>

#include "codegen/axis_parts.h"
#include "codegen/collapse.h"

namespace sinter::codegen {
namespace {

/// A kernel of parts of another: only what they need, the axis counted from where a part begins. Several
/// parts are one index long each, and are all computed at every point.
class OfParts {
 public:
  OfParts(const Kernel& k, int axis) : k_(k), axis_(axis), varies_(k.varies_along({axis})) {
    result_.name = k.name;
    result_.axes = k.axes;
    result_.atoms = k.atoms;
    result_.facts = k.facts;
    result_.fixed_fold_order = k.fixed_fold_order;
    result_.written_run = k.written_run;
    buffer_.assign(k.buffers.size(), -1);
    shared_.assign(k.values.size(), -1);
  }

  void add(const AxisPart& part) {
    const InParts in = in_parts(k_, {&part, 1});
    std::vector<int> number = shared_;
    const auto of = [&](int value) {
      return number[static_cast<std::size_t>(in.stands_for[static_cast<std::size_t>(value)])];
    };
    const auto moved = [&](Affine a) {
      a.constant = a.constant + a.factor(axis_) * ir::Dim(part.begin);
      return a;
    };
    const ir::Dim extent(part.end - part.begin);
    result_.axes[static_cast<std::size_t>(axis_)].extent = extent;
    result_.atoms[axis_].extent = extent;
    for (int value : in.needed) {
      const auto at = static_cast<std::size_t>(value);
      if (number[at] >= 0) continue;
      KernelValue v = k_.values[at];
      v.address = moved(v.address);
      v.range.index = moved(v.range.index);
      for (int& o : v.operands) o = of(o);
      if (v.guard >= 0) v.guard = in.holds[static_cast<std::size_t>(v.guard)] ? -1 : of(v.guard);
      if (v.buffer >= 0) v.buffer = take_buffer(result_, k_, v.buffer, buffer_);
      number[at] = static_cast<int>(result_.values.size());
      if (!varies_[at]) shared_[at] = number[at];
      result_.values.push_back(std::move(v));
    }
    for (KernelStore s : k_.stores) {
      s.value = of(s.value);
      s.address = moved(s.address);
      s.buffer = take_buffer(result_, k_, s.buffer, buffer_);
      s.in_part = true;
      result_.stores.push_back(std::move(s));
    }
    for (int i = 0; i < result_.atoms.size(); ++i) {
      Atom& atom = result_.atoms[i];
      atom.index = moved(atom.index);
      if (atom.kind == Atom::Kind::value) atom.number = of(atom.number);  // -1 where no one asks any more
    }
  }

  Kernel take() { return collapse(std::move(result_)); }

 private:
  const Kernel& k_;
  const int axis_;
  const std::vector<bool> varies_;  // per value: along the axis
  Kernel result_;
  std::vector<int> buffer_, shared_;  // numbers in the result, of all parts; -1: not there
};

/// Whether the kernel can compute several indices of an axis at every point: what it reads at an index it
/// reads at no other, and no place in its tensors is worked out of the axis.
bool has_separate_indices(const Kernel& k, int axis, const AxisPart& all) {
  for (int i = static_cast<int>(k.axes.size()); i < k.atoms.size(); ++i)
    if (k.atoms[i].kind == Atom::Kind::value || !k.atoms[i].index.factor(axis).is(0)) return false;
  std::vector<bool> read(k.values.size(), false);
  for (std::int64_t i = all.begin; i < all.end; ++i) {
    const AxisPart part{axis, i, i + 1};
    for (int value : in_parts(k, {&part, 1}).needed) {
      const auto at = static_cast<std::size_t>(value);
      if (k.values[at].kind == KernelValue::Kind::load && !k.values[at].address.factor(axis).is(0) &&
          read[at])
        return false;
      read[at] = true;
    }
  }
  return true;
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
  bool leaves_whole() const { return ends.empty() || (ends.size() == 1 && !by_index[0]); }

  int axis = -1;
  int parts = 1;  // that differ in what is read
  std::vector<std::int64_t> ends;
  std::vector<bool> by_index;  // per kernel: it computes all its indices at every point
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
  constexpr int few = 8, more = 16;                // parts; more where each is an index
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
    const auto by_index = [&](std::int64_t end, int count) {
      return gpu && end - begin == count && count > 1 && division.axis + 1 == std::ssize(k.axes) &&
             has_separate_indices(k, division.axis, {division.axis, begin, end});
    };
    previous = borders[i];
    ++parts;
    const bool room = parts < few || (parts < more && !is_last && by_index(borders[i + 1], parts + 1));
    if (room && !is_long && !next_is_long && !is_last && is_small(k, {division.axis, begin, borders[i + 1]}))
      continue;
    division.ends.push_back(borders[i]);
    division.by_index.push_back(by_index(borders[i], parts));
    begin = borders[i];
    parts = 0;
  }
  return division;
}

std::vector<Kernel> kernels_of(const Kernel& k, const Division& division) {
  std::vector<Kernel> kernels;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < division.ends.size(); ++i) {
    const std::int64_t end = division.ends[i];
    OfParts kernel(k, division.axis);
    for (std::int64_t next; begin < end; begin = next) {
      next = division.by_index[i] ? begin + 1 : end;
      kernel.add({division.axis, begin, next});
    }
    kernels.push_back(kernel.take());
  }
  return kernels;
}

}  // namespace

int most_joined(Backend backend) {
  return backend == Backend::cuda ? 16 : 8;
}

std::vector<Kernel> divide(const Kernel& k, Backend backend) {
  const Division division = division_of(k, backend);
  if (division.leaves_whole()) return {k};
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
  if (small || parts <= element_bytes || parts > most_joined(backend) || division.leaves_whole()) return {k};
  std::vector<Kernel> kernels = kernels_of(k, division);
  std::int64_t apart = 0;
  for (const Kernel& part : kernels) apart += part.bytes(false).value();
  if (apart > read.value() + read.value() / 16) return {k};
  return kernels;
}

}  // namespace sinter::codegen
