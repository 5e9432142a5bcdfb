// Concat of many tensors as several kernels, each of which writes a part of the result: as one it would read
// them all, and choose among them all for each element.
#pragma once

#include <vector>

#include "codegen/device.h"
#include "codegen/kernel.h"

namespace sinter::codegen {

/// Tensors that one kernel joins: on a GPU it chooses among them for each vector, on the CPU it has a loop
/// for each, which takes the compiler long.
int most_joined(Backend backend);

/// The kernels, in any order, whose domains are the parts of the kernel's domain along the axis with the most
/// borders, where there is no reduction. A kernel takes one part that is long in memory, or several short
/// ones.
std::vector<Kernel> divide(const Kernel& kernel, Backend backend);

/// The same for a kernel that joins few: only on a GPU, which reads parts in whole vectors, where choosing
/// among them for each element takes longer than to move it, and parts read nothing in common. Else the
/// kernel.
std::vector<Kernel> divide_few(const Kernel& kernel, Backend backend);

}  // namespace sinter::codegen
