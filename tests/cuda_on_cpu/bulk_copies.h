// The bulk copies into one block's shared memory, and the barriers that they are waited for at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "tests/cuda_on_cpu/clocks.h"

namespace sinter::testing::cuda_on_cpu {

class BulkCopies {
 public:
  /// A new block: no barrier is there.
  void start() { barriers_.clear(); }

  /// What is wrong with making a barrier, or with starting a copy at one, or "".
  std::string refuses_init(const void* barrier) const;
  std::string refuses_start(const void* barrier) const;

  void init(const void* barrier);
  /// Starts a copy, until whose end the memory holds something else. `line` is for messages.
  void start(const void* barrier, std::byte* to, const std::byte* from, std::size_t bytes, int line);
  /// Which of the copies that may be under way at the same time this barrier's is.
  int slot(const void* barrier) const { return barriers_.at(barrier).slot; }

  /// Whether a wait is over: the copy of this parity has come, if only now. Then `knowledge` is what the
  /// waiting thread comes to know. `number` is what the copy writes as.
  bool try_wait(const void* barrier, std::uint32_t parity, Clocks& clocks, int rank,
                Clocks::Times& knowledge);
  /// Whether there is such a barrier.
  bool is_made(const void* barrier) const { return barriers_.contains(barrier); }
  /// The line that started a copy that is still under way, or 0.
  int line_under_way() const;

 private:
  struct Barrier {
    int slot = 0;
    std::uint32_t ended = 0;  // copies
    bool under_way = false;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
    int line = 0;
    Clocks::Times knowledge;  // of who waited for the last copy
  };

  std::map<const void*, Barrier> barriers_;
};

}  // namespace sinter::testing::cuda_on_cpu
