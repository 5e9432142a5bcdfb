// What else could run a kernel than the schedule that is chosen untimed: the candidates that SINTER_AUTOTUNE
// times.
#pragma once

#include <string>
#include <vector>

#include "codegen/schedule.h"

namespace sinter::codegen {

constexpr int most_candidates = 6;

/// Schedules that are all right for the kernel, no two alike and most_candidates at most. The first is
/// `chosen`, which is choose_schedule()'s; the others differ from it in what a chooser can but estimate:
/// threads of a block, elements of a thread, pieces of a row, the size of a cluster, where a row lives. Only
/// `chosen` on the CPU, and where the order of folds is fixed.
std::vector<Schedule> candidates(const Kernel& kernel, const Schedule& chosen,
                                 const DeviceDescription& device);

/// All that makes a schedule what it is, for keys; `str()` is for people, and leaves things out.
std::string identity(const Schedule& schedule);

}  // namespace sinter::codegen
