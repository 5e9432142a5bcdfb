// Simplifies a kernel's domain: drops axes of length 1, and joins neighbouring axes that every address walks
// through without a gap, so that a contiguous tensor of any rank is one axis and kernels are shared between
// ranks.
#pragma once

#include "codegen/kernel.h"

namespace sinter::codegen {

Kernel collapse(Kernel kernel);

}  // namespace sinter::codegen
