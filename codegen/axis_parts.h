// What guards leave of a kernel in a part of its domain. Concat and pad test where an index of an axis lies;
// between two borders the answers are the same, and most of the kernel is not needed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "codegen/kernel.h"

namespace sinter::codegen {

/// Indices [begin, end) of an axis.
struct AxisPart {
  int axis;
  std::int64_t begin, end;
};

/// The indices of the axis at which the guard holds, where it tests that axis alone and lengths are numbers.
std::optional<AxisPart> where_it_holds(const Kernel& kernel, const Guard& guard);

/// A kernel without reductions, where its axes are no longer than these parts of them.
struct InParts {
  std::vector<int> stands_for;  // per value: the value that it is the same as there, most often itself
  std::vector<bool> holds;      // per value: a guard that is known to hold
  std::vector<int> needed;      // what the stores need, in an order in which it can be computed
};
InParts in_parts(const Kernel& kernel, std::span<const AxisPart> parts);

/// The indices at which the guards that those values need, and that test the axis alone, change: the first
/// index of each part but the first. None where lengths have no values.
std::vector<std::int64_t> borders_along(const Kernel& kernel, int axis, std::span<const int> needed);

/// The kernel with the values of the same numbers as they are there; those that are not needed are left as
/// they were.
Kernel as_in(const Kernel& kernel, const InParts& in);

}  // namespace sinter::codegen
