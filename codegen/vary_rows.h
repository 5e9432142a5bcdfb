// What the variants of schedules have in common that give rows to teams of threads.
#pragma once

#include "codegen/row_vectors.h"
#include "codegen/vary.h"

namespace sinter::codegen {

/// Varies a schedule in one thing at a time. Rows have a known length, and an axis of their own.
class RowVariants {
 public:
  RowVariants(const Kernel& kernel, const DeviceDescription& device, const Schedule& chosen);

  static bool can_vary(const Kernel& kernel) {
    return kernel.innermost(true) >= 0 && kernel.row_length().is_constant();
  }

 protected:
  void add(Schedule s) { variants_.push_back(std::move(s)); }
  /// How a row's axis is divided.
  std::vector<Factor>& row_axis(Schedule& s) const { return s.axes[static_cast<std::size_t>(inner_)]; }
  const std::vector<Factor>& chosen_row_axis() const {
    return chosen_.axes[static_cast<std::size_t>(inner_)];
  }
  /// Has so many threads take `chunks` vectors at once each.
  void set_team(Schedule& s, int threads, int chunks) const;
  /// Other steps of a walk over a long row.
  void steps(int threads, int chunks);

  const Kernel& k_;
  const Schedule& chosen_;
  const DeviceDescription& device_;
  const int inner_;
  const RowVectors vectors_;
  int team_ = 1, chunks_ = 1;  // threads that share a row, vectors that each takes at once
  std::vector<Schedule> variants_;
};

}  // namespace sinter::codegen
