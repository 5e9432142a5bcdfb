// Whether what a thread of a GPU holds at once has room in its registers, and schedules that take less at
// once where it has not. Choosers think of the tensors that a kernel reads; how many registers its values
// take depends on all of them, wide ones beside narrow ones, and on what is computed from them.
#pragma once

#include "codegen/schedule.h"

namespace sinter::codegen {

/// Instructions that a thread's unrolled loops may come to, so that they compile soon.
constexpr int most_unrolled = 900;

/// About how many instructions all walks over a row make for one of its elements.
int instructions_of_element(const Kernel& kernel);

/// Whether a thread's values have room in the registers that it can have, and its unrolled loops compile
/// soon.
bool fits_registers(const Kernel& kernel, const Schedule& schedule, const DeviceDescription& device);

/// The schedule that `choose` makes for a device, if that fits; else one of narrower vectors, of fewer
/// elements at once, or that reads a row again instead of keeping it. An order of folds that is fixed stays.
Schedule fit_registers(const Kernel& kernel, const DeviceDescription& device,
                       const std::function<Schedule(const DeviceDescription&)>& choose);

}  // namespace sinter::codegen
