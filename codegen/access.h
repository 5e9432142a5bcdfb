// How wide a tensor can be read or written along an axis.
#pragma once

#include "codegen/kernel.h"

namespace sinter::codegen {

/// Whether neighbouring elements along the axis are neighbours in memory, wherever the address is.
bool is_dense_along(const Kernel& kernel, const Affine& address, int axis);

/// Elements that one access of up to `bytes` bytes can move at an address that is dense along `axis`, where
/// accesses start at multiples of `step` elements: the largest power of two that divides the step, the
/// buffer's alignment and every stride.
int access_elements(const Kernel& kernel, int buffer, const Affine& address, int axis, std::int64_t step,
                    int bytes);

/// Elements along the axis that a thread handles at once, so that the tensor that allows the most is moved
/// `bytes` bytes at a time: a power of two that divides the axis.
int vector_elements(const Kernel& kernel, int axis, int bytes);

}  // namespace sinter::codegen
