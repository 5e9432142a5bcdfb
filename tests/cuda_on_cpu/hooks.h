// What a compiled kernel calls in the simulator. kernel_side.cpp, which is linked to every kernel, passes on
// what the compiler's instrumentation and the prelude's twins (codegen/prelude/host_group.inc) ask for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::testing::cuda_on_cpu {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

/// threadIdx, blockIdx, blockDim, gridDim of the running thread.
struct LaunchIndices {
  Index3 *thread, *block, *block_size, *grid_size;
};

enum class Shuffle : std::uint8_t { by_xor, down, from_lane };

/// All but `access` may give the processor to another thread, and none returns if it finds a fault. `caller`
/// is an address in the kernel's code.
struct Hooks {
  /// Memory is about to be read or written. `aligned`: the type promises as much alignment as it has bytes.
  void (*access)(const void* at, std::size_t bytes, bool write, bool aligned, const void* caller);
  /// Undefined behaviour in this line of the text.
  void (*undefined)(const char* what, unsigned line);
  /// A misaligned (or null) pointer is about to be used for a type of this alignment.
  void (*bad_pointer)(const void* at, std::size_t alignment, unsigned line);
  void (*sync_block)(int line);
  void (*sync_warp)(int line);
  /// Replaces the value by another lane's.
  void (*shuffle)(Shuffle kind, void* value, int bytes, int by, int line);
};

}  // namespace sinter::testing::cuda_on_cpu
