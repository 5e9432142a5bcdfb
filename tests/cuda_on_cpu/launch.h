// Running a launch: its blocks, cluster by cluster, in several orders that must agree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/cuda_on_cpu/kernel.h"

namespace sinter::testing::cuda_on_cpu {

enum class Order : std::uint8_t { forward, reverse, random };

inline constexpr int most_block_threads = 1024, most_threads_at_once = 32 * 1024;

struct Launch {
  const Kernel* kernel = nullptr;
  std::span<const std::byte> params;
  std::int64_t blocks = 0;
  int block_threads = 0;
  std::vector<Region> buffers;    // of global memory
  int cluster = 1;                // blocks that run at the same time; divides their number
  std::int64_t shared_bytes = 0;  // of dynamic shared memory
  int together = 1;  // the like of blocks that are no cluster, and wait for each other's messages

  int blocks_at_once() const { return std::max(cluster, together); }
};

/// Runs the clusters of these blocks, or those that wait for each other, in the order; throws KernelFault at
/// the first fault. One at a time in a process. Blocks are given in ascending order.
void run_blocks(const Launch& launch, const std::vector<std::int64_t>& blocks, Order order,
                std::uint64_t seed = 0);

/// The blocks of a grid too large to run as a whole.
std::vector<std::int64_t> first_middle_last(std::int64_t blocks);

/// Runs all blocks in order and in reverse, and those of a small launch at random, too; what the kernel
/// computes is poisoned before each with another pattern. Throws KernelFault at the first fault, also if two
/// orders leave results that differ in any bit. Of a launch of more than `most_threads` only the first, the
/// middle and the last blocks are run, and results are not compared; with counters, of which one must see
/// every block, such a launch is refused.
inline constexpr std::int64_t most_threads = 1 << 24;
void run_launch(const Launch& launch);

}  // namespace sinter::testing::cuda_on_cpu
