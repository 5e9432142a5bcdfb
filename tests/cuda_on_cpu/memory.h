// The memory that a kernel may touch, and who touched what: every access is checked before it happens.
//
// Two accesses of one place by different threads, one of them a write, must be ordered by a barrier that both
// threads took part in (within a warp, by sync_warp() too; a shuffle orders nothing), and between blocks
// nothing orders them. Of each place the last write is kept, and the last reads by one warp. That finds every
// such pair of which the write comes first; a kernel is run in an order and in its reverse, so that it comes
// first in one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/clocks.h"
#include "tests/cuda_on_cpu/fault.h"
#include "tests/support/guarded_memory.h"

namespace sinter::testing::cuda_on_cpu {

struct Region {
  enum class Kind : std::uint8_t { input, output, shared };
  std::string name;
  Kind kind = Kind::input;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  int element_bytes = 1;  // what is told apart by threads
};

struct Accessor {
  std::int64_t block;
  int thread;
};

struct MemoryFault {
  Fault fault;
  std::string what;
};

class Memory {
 public:
  explicit Memory(std::vector<Region> regions);

  /// Shared memory is as if new.
  void start_block() { ++serial_; }

  /// What is wrong with this access, if anything. A read of what nothing has written counts as a read all the
  /// same: a write that is not ordered with it may follow, and then that is the fault.
  std::optional<MemoryFault> access(const std::byte* at, std::size_t bytes, bool write, Accessor who,
                                    const Clocks& clocks);

  const std::vector<Region>& regions() const { return regions_; }
  /// Whether the element was written since the memory was made.
  bool written(std::size_t region, std::int64_t element) const;

 private:
  struct Place {                           // zeros: not touched
    std::int64_t write_block, read_block;  // 1 + the block
    std::uint32_t serial;                  // of the block, for shared memory
    std::uint32_t write_time, read_time;
    std::uint16_t writer, reading_warp;
    std::uint32_t readers;  // a bit for each lane
  };

  std::optional<std::size_t> region_of(const std::byte* at);
  MemoryFault outside(const std::byte* at, std::size_t bytes, bool write) const;
  std::optional<std::string> race(const Region& region, const Place& place, bool write, Accessor who,
                                  const Clocks& clocks) const;

  std::vector<Region> regions_;  // by address
  std::vector<std::unique_ptr<ReservedMemory>> places_;
  std::size_t last_ = 0;
  std::uint32_t serial_ = 0;
};

}  // namespace sinter::testing::cuda_on_cpu
