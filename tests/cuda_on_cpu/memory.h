// The memory that a kernel may touch, and who touched what: every access is checked before it happens.
//
// Two accesses of one place by different threads, one of them a write, must be ordered by a barrier that both
// threads took part in (within a warp, by sync_warp() too; a shuffle orders nothing), of the block or of the
// cluster; between other blocks, by what the last one at a counter knows of those before. Of each place the
// last write is kept, and the last reads by one warp. That finds every such pair of which the write comes
// first; a kernel is run in an order and in its reverse, so that it comes first in one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/arrivals.h"
#include "tests/cuda_on_cpu/clocks.h"
#include "tests/cuda_on_cpu/coverage.h"
#include "tests/cuda_on_cpu/fault.h"
#include "tests/support/guarded_memory.h"

namespace sinter::testing::cuda_on_cpu {

struct Region {
  enum class Kind : std::uint8_t {
    input,
    output,
    scratch,   // global memory that holds nothing before and after the launch
    counters,  // zeros before and after the launch; only arrive_last() and messages touch them
    shared     // of each block of a cluster
  };
  std::string name;
  Kind kind = Kind::input;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  int element_bytes = 1;         // what is told apart by threads
  Coverage* coverage = nullptr;  // of an output that several launches may write
};

struct Accessor {
  std::int64_t block;
  int rank;                // of the block in its cluster
  int thread;              // in the block
  int number;              // in the cluster, as clocks count
  std::uint32_t arrivals;  // of the block, until now
};

struct HappensBefore {
  const Clocks& clocks;  // of the cluster that is running
  const Arrivals& arrivals;
};

struct MemoryFault {
  Fault fault;
  std::string what;
};

class Memory {
 public:
  Memory(std::vector<Region> regions, int cluster_blocks);

  /// The shared memory of all its blocks is as if new.
  void start_cluster() { ++serial_; }

  /// What is wrong with this access, if anything. A read of what nothing has written counts as a read all the
  /// same: a write that is not ordered with it may follow, and then that is the fault.
  std::optional<MemoryFault> access(const std::byte* at, std::size_t bytes, bool write, const Accessor& who,
                                    const HappensBefore& order) {
    return access_in(who.rank, at, bytes, write, who, order);
  }
  /// A write into the shared memory of the block `rank` of the cluster, to what is at this address in each.
  std::optional<MemoryFault> write_in(int rank, const std::byte* at, std::size_t bytes, const Accessor& who,
                                      const HappensBefore& order) {
    return access_in(rank, at, bytes, true, who, order);
  }
  /// The region that holds all of this, if one does.
  const Region* region(const std::byte* at, std::size_t bytes);
  /// "writes 4 bytes at 0 bytes past the end of a, which has 256 bytes".
  MemoryFault outside(const std::byte* at, std::size_t bytes, const std::string& verb);
  /// A thread of the block that has written to any of this shared memory last, or -1.
  int writer_of(const std::byte* at, std::size_t bytes, int rank, const Clocks& clocks);

 private:
  struct Place {                           // zeros: not touched
    std::int64_t write_block, read_block;  // 1 + the block
    std::uint32_t serial;                  // of the cluster, for shared memory
    std::uint32_t write_time, read_time;
    std::uint32_t write_arrivals, read_arrivals;
    std::uint32_t readers;  // a bit for each lane
    std::uint16_t writer, reading_warp;
  };

  std::optional<std::size_t> region_of(const std::byte* at);
  std::optional<MemoryFault> access_in(int rank, const std::byte* at, std::size_t bytes, bool write,
                                       const Accessor& who, const HappensBefore& order);
  Place* places(std::size_t region, int rank) const;
  std::optional<MemoryFault> race(const Place& place, bool write, const Accessor& who,
                                  const HappensBefore& order) const;

  std::vector<Region> regions_;  // by address
  std::vector<std::unique_ptr<ReservedMemory>> places_;
  int cluster_;
  std::size_t last_ = 0;
  std::uint32_t serial_ = 0;
};

}  // namespace sinter::testing::cuda_on_cpu
