// Concat of many tensors as several kernels, each of which writes a part of the result: as one it would read
// them all, and choose among them all for each element.
#pragma once

#include <vector>

#include "codegen/kernel.h"

namespace sinter::codegen {

/// The kernels, in any order, whose domains are the parts of the kernel's domain along the axis with the most
/// borders: where there are more than `most` parts between them, and no reduction. A kernel takes one part
/// that is long in memory, or up to `most` short ones.
std::vector<Kernel> divide(const Kernel& kernel, int most);

}  // namespace sinter::codegen
