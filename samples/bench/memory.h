// Main memory: how fast it copies, and how its contents are kept out of the caches.
#pragma once

#include <cstddef>
#include <memory>

#include "samples/bench/team.h"

namespace bench {

/// Two arrays, each twice the size of the last-level cache.
class Memory {
 public:
  explicit Memory(Team& team);

  /// GB/s, read plus written, of the median copy of one array to the other by all threads: the better of
  /// memcpy and a plain loop, since either is the faster one on some machine. Takes about `seconds`.
  double copy_bandwidth(double seconds);

  /// Reads both arrays, so that nothing else is left in the caches.
  void flush();

 private:
  Team& team_;
  std::size_t bytes_;  // of one array
  std::unique_ptr<std::byte[]> from_, to_;
};

/// Bytes of the last-level cache, as far as the system says them.
std::size_t last_level_cache();

}  // namespace bench
