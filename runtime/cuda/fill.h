// Filling a GPU's memory with one value.
#pragma once

#include <cstdint>

namespace sinter::runtime::cuda {

class CudaDevice;

/// Starts filling `count` elements of `size` bytes (1, 2, 4 or 8) with `bits`, on the device's stream. The
/// device is the current one.
void fill_memory(CudaDevice& device, void* to, std::uint64_t bits, int size, std::int64_t count);

}  // namespace sinter::runtime::cuda
