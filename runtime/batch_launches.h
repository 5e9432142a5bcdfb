// Which launches of a program become one: kernels of one text that do not wait for each other and are so
// small that starting them costs about as much as what they do.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// What a group of the partition does, as far as joining depends on it.
struct LaunchCandidate {
  std::vector<int> after;       // candidates that must have run
  std::string_view text;        // of its kernel
  int most = 1;                 // instances of the text that a launch can take; 1: it has a launch of its own
  int shared_bytes = 0;         // that the launch gives a block
  std::int64_t blocks = 0;      // of threads
  std::int64_t kept_bytes = 0;  // of what it leaves in memory for other candidates
};

/// The launches in the order in which they run, each as numbers of candidates in ascending order. Candidates
/// come in an order in which they can run. Those that join a launch run where its first one does, earlier
/// than they would alone, so what they leave for others is bounded: it lies in memory for longer.
std::vector<std::vector<int>> join_launches(std::span<const LaunchCandidate> candidates);

}  // namespace sinter::runtime
