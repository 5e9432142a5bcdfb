// Workloads written and vectorised by hand, as a yardstick for the generated kernels. They are built for the
// processor of this machine (samples/CMakeLists.txt), so their file includes no inline function of anybody
// else.
#pragma once

#include <cstddef>
#include <span>

namespace suite {

/// gelu of the elements [begin, end), by the tanh formula with the arithmetic of the device prelude.
void gelu_by_hand(std::span<const float* const> inputs, std::span<float* const> outputs, std::size_t begin,
                  std::size_t end);

}  // namespace suite
