// Running the blocks of a launch one after the other, each with a fiber for every thread. A thread runs until
// it waits for others; threads take turns in a given order, and a warp goes as far as it can before the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/cuda_on_cpu/kernel.h"

namespace sinter::testing::cuda_on_cpu {

enum class Order : std::uint8_t { forward, reverse, random };

struct Launch {
  const Kernel* kernel = nullptr;
  std::span<const std::byte> params;
  std::int64_t blocks = 0;
  int block_threads = 0;
  std::vector<Region> buffers;  // of global memory
};

/// Runs these blocks of the launch in the order, and says what they touched; throws KernelFault at the first
/// fault. One at a time in a process.
Memory run_blocks(const Launch& launch, std::vector<std::int64_t> blocks, Order order,
                  std::uint64_t seed = 0);

/// The blocks of a grid too large to run as a whole.
std::vector<std::int64_t> first_middle_last(std::int64_t blocks);

/// Runs all blocks in order and in reverse, and those of a small launch at random, too; outputs are poisoned
/// before each with another pattern. Throws KernelFault at the first fault, also if two orders leave results
/// that differ in any bit. Of a launch of more than `most_threads` only the first, the middle and the last
/// blocks are run, and results are not compared.
inline constexpr std::int64_t most_threads = 1 << 24;
void run_launch(const Launch& launch);

}  // namespace sinter::testing::cuda_on_cpu
