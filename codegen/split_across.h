// A kernel that folds rows and across rows as two: one that walks over rows and leaves what each team of
// threads has folded across its own rows, and one that folds those parts.
#pragma once

#include "codegen/device.h"
#include "codegen/kernel.h"
#include "codegen/schedule.h"

namespace sinter::codegen {

/// A kernel that folds across rows stays one and has no more than `rows`; `columns` is what is left to do.
struct AcrossRows {
  Kernel rows, columns;
};

/// Whether threads of the device can hold what such a kernel needs of a row.
bool fits_rows_across(const Kernel& kernel, const DeviceDescription& device);

/// Splits a kernel that folds across rows. The parts are so many that all teams of threads that the device
/// runs at once have one, and no block of them is without a row.
AcrossRows split_across(const Kernel& kernel, const DeviceDescription& device);

}  // namespace sinter::codegen
