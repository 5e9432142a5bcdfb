#include "codegen/split_across.h"

#include <algorithm>

#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

using Kind = KernelValue::Kind;

/// Copies values, with the atoms and buffers that they use, from one kernel into another over other axes.
class Copier {
 public:
  /// `axis_of` says which axis of `to` stands for an axis of `from`, or -1.
  Copier(const Kernel& from, Kernel& to, const std::vector<int>& axis_of)
      : from_(from),
        to_(to),
        atom_of_(static_cast<std::size_t>(from.atoms.size()), -1),
        value_of_(from.values.size(), -1),
        buffer_of_(from.buffers.size(), -1) {
    std::ranges::copy(axis_of, atom_of_.begin());
  }

  /// Copies a value and all that it needs.
  int copy(int root) {
    std::vector<bool> needed(from_.values.size(), false);
    needed[static_cast<std::size_t>(root)] = true;
    for (int v = root; v >= 0; --v)
      if (needed[static_cast<std::size_t>(v)] && value_of_[static_cast<std::size_t>(v)] < 0)
        for_each_operand(from_, v, [&](int o) { needed[static_cast<std::size_t>(o)] = true; });
    for (int v = 0; v <= root; ++v)
      if (needed[static_cast<std::size_t>(v)] && value_of_[static_cast<std::size_t>(v)] < 0) copy_one(v);
    return value_of_[static_cast<std::size_t>(root)];
  }

  /// From here on `value` of the first kernel is `copied`.
  void stands_for(int value, int copied) { value_of_[static_cast<std::size_t>(value)] = copied; }

  Affine map(const Affine& a) {
    Affine mapped = Affine::of(a.constant);
    for (const Term& t : a.terms) mapped = mapped + Affine::atom(atom(t.atom)) * t.factor;
    return mapped;
  }

  int buffer(int number) { return take_buffer(to_, from_, number, buffer_of_); }

 private:
  int atom(int number) {
    const int known = atom_of_[static_cast<std::size_t>(number)];
    if (known >= 0) return known;
    Atom a = from_.atoms[number];
    SINTER_ASSERT(a.kind != Atom::Kind::axis, "{}: a value runs along an axis that is folded", from_.name);
    if (a.kind == Atom::Kind::value)
      a.number = value_of_[static_cast<std::size_t>(a.number)];
    else
      a.index = map(a.index);
    to_.atoms.append(std::move(a));
    return atom_of_[static_cast<std::size_t>(number)] = to_.atoms.size() - 1;
  }

  void copy_one(int v) {
    KernelValue x = from_.values[static_cast<std::size_t>(v)];
    for (int& o : x.operands) o = value_of_[static_cast<std::size_t>(o)];
    if (x.guard >= 0) x.guard = value_of_[static_cast<std::size_t>(x.guard)];
    if (x.buffer >= 0) x.buffer = buffer(x.buffer);
    x.address = map(x.address);
    x.range.index = map(x.range.index);
    value_of_[static_cast<std::size_t>(v)] = static_cast<int>(to_.values.size());
    to_.values.push_back(std::move(x));
  }

  const Kernel& from_;
  Kernel& to_;
  std::vector<int> atom_of_, value_of_, buffer_of_;
};

/// The number of an element within its row, where row axis i of the kernel stands at axis_of[i].
Affine place_in_row(const Kernel& k, const std::vector<int>& axis_of) {
  Affine place = Affine::of(0);
  ir::Dim stride(1);
  for (std::size_t i = k.axes.size(); i-- > 0;) {
    if (!k.axes[i].reduced) continue;
    place = place + Affine::atom(axis_of[i]) * stride;
    stride = stride * k.axes[i].extent;
  }
  return place;
}

/// Teams of threads that the device runs at once, as the schedule says.
std::int64_t teams_at_once(const Kernel& k, const Schedule& schedule, const DeviceDescription& device) {
  int teams = 1;  // of a block
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    for (const Factor& f : schedule.axes[i])
      if (f.level == Level::block && !k.axes[i].reduced) teams = f.size;
  const int blocks = std::max(1, schedule.least_blocks);
  std::int64_t all = std::int64_t{device.processors} * blocks * teams;
  if (const ir::Dim rows = k.rows(); rows.is_constant())
    all = std::min(all, (rows.value() + teams - 1) / teams * teams);
  return all;
}

}  // namespace

AcrossRows split_across(const Kernel& k, const DeviceDescription& device) {
  const std::vector<bool> after = k.after_all_rows();
  ir::Dim parts(1);  // until it is known which teams run the rows
  AcrossRows split;
  Kernel &rows = split.rows, &columns = split.columns;
  rows.name = k.name;
  columns.name = k.name + "_parts";
  rows.facts = columns.facts = k.facts;
  rows.axes = k.axes;
  columns.axes = {{parts, true}};
  columns.atoms.axis(parts);
  std::vector<int> same, below;  // where an axis is in `rows`, in `columns`
  for (std::size_t i = 0; i < k.axes.size(); ++i) {
    same.push_back(rows.atoms.axis(k.axes[i].extent));
    below.push_back(k.axes[i].reduced ? columns.atoms.axis(k.axes[i].extent) : -1);
    if (k.axes[i].reduced) columns.axes.push_back({k.axes[i].extent, false});
  }
  Copier to_rows(k, rows, same), to_columns(k, columns, below);
  for (const KernelStore& s : k.stores)
    if (!after[static_cast<std::size_t>(s.value)])
      rows.stores.push_back({to_rows.copy(s.value), to_rows.buffer(s.buffer), to_rows.map(s.address)});
  int partial = 0;
  for (std::size_t v = 0; v < k.values.size(); ++v) {
    const KernelValue& fold = k.values[v];
    if (!fold.across) continue;
    const DType dtype = k.values[static_cast<std::size_t>(fold.operands[0])].dtype;
    KernelBuffer buffer{{}, dtype, true, 64, partial++, parts};
    rows.stores.push_back(
        {to_rows.copy(static_cast<int>(v)), static_cast<int>(rows.buffers.size()), place_in_row(k, same)});
    rows.buffers.push_back(buffer);
    buffer.written = false;
    buffer.parts = 1;
    KernelValue part, whole = fold;
    part.kind = Kind::load;
    part.dtype = dtype;
    part.buffer = static_cast<int>(columns.buffers.size());
    part.address = Affine::atom(0) * k.row_length() + place_in_row(k, below);
    columns.buffers.push_back(buffer);
    columns.values.push_back(std::move(part));
    whole.across = false;
    whole.operands = {static_cast<int>(columns.values.size()) - 1};
    columns.values.push_back(std::move(whole));
    to_columns.stands_for(static_cast<int>(v), static_cast<int>(columns.values.size()) - 1);
  }
  for (const KernelStore& s : k.stores)
    if (after[static_cast<std::size_t>(s.value)])
      columns.stores.push_back(
          {to_columns.copy(s.value), to_columns.buffer(s.buffer), to_columns.map(s.address)});
  // What the kernel of the rows stores may have it run in other teams than `k` would.
  parts = ir::Dim(teams_at_once(rows, choose_schedule(rows, device), device));
  for (KernelBuffer& b : rows.buffers)
    if (b.partial >= 0) b.parts = parts;
  columns.axes[0].extent = parts;
  columns.atoms[0].extent = parts;
  return split;
}

}  // namespace sinter::codegen
