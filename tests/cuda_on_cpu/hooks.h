// What a compiled kernel calls in the simulator. kernel_side.cpp, which is linked to every kernel, passes on
// what the compiler's instrumentation and the prelude's twins (codegen/prelude/host_*.inc) ask for.
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
  void* (*dynamic_shared)();
  bool (*arrive_last)(std::uint32_t* counter, std::uint32_t count, int line);
  void (*cluster_arrive)(int line);
  void (*cluster_wait)(int line);
  int (*cluster_rank)();
  void (*store_to_block)(void* mine, int rank, const void* value, int bytes, int line);
  void (*bulk_init)(const void* barrier, int line);
  void (*bulk_load)(void* to, const void* from, std::uint32_t bytes, const void* barrier, int line);
  void (*bulk_wait)(const void* barrier, std::uint32_t parity, int line);
  void (*bulk_prefetch)(const void* from, std::uint32_t bytes, int line);
  std::uint32_t (*take_ticket)(std::uint32_t* counter, std::uint32_t count, int line);
  void (*send)(std::uint64_t* words, const std::uint32_t* halves, int n, int line);
  void (*receive)(const std::uint64_t* words, std::uint32_t* halves, int n, int line);
  void (*clear_received)(std::uint64_t* words, int n, std::uint32_t* readers, std::uint32_t count, int line);
};

}  // namespace sinter::testing::cuda_on_cpu
