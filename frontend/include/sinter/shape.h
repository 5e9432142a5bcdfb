// Shapes, axes and ranges: how users say which part of a tensor they mean.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace sinter {

/// The lengths of a tensor's axes, outermost first; empty for a scalar.
using Shape = std::vector<std::int64_t>;

/// The axes an operation works along. Negative ones count from the last axis. `Axes{}` means all of them.
class Axes {
 public:
  Axes() = default;
  Axes(std::int64_t axis) : axes_(std::in_place, {axis}) {}
  Axes(std::initializer_list<std::int64_t> axes) : axes_(std::in_place, axes) {}
  Axes(std::vector<std::int64_t> axes) : axes_(std::move(axes)) {}

  bool is_all() const { return !axes_.has_value(); }
  /// The axes as given, or nothing for all of them.
  const std::optional<std::vector<std::int64_t>>& given() const { return axes_; }

 private:
  std::optional<std::vector<std::int64_t>> axes_;
};

/// Part of one axis, as Python's start:stop:step has it: negative positions count from the end, what is left
/// out means "from the end where the step begins", and positions out of range are clamped.
///
///     slice(x, {{0, 10}, {}, {.step = 2}})   // x[0:10, :, ::2]
struct Range {
  std::optional<std::int64_t> start = std::nullopt;
  std::optional<std::int64_t> stop = std::nullopt;
  std::int64_t step = 1;
};

}  // namespace sinter
