// What the last of the blocks that arrive at a counter may read: arrive_last() of the prelude, between
// blocks.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace sinter::testing::cuda_on_cpu {

class Arrivals {
 public:
  // A block's time is how often it has arrived anywhere: what it does now comes before its next arrival.

  /// Whether what a block did at its time `then` comes before what another does now.
  bool ordered(std::int64_t block, std::uint32_t then, std::int64_t other) const {
    const auto found = known_.find(other);
    if (found == known_.end()) return false;
    const auto time = found->second.find(block);
    return time != found->second.end() && time->second > then;
  }

  /// What is wrong with an arrival, or "".
  std::string refusal(const std::uint32_t* counter, std::uint32_t count, std::int64_t block) const;
  /// One that is not refused: whether it is the last of `count`. Counts in `*counter`, too.
  bool arrive(std::uint32_t* counter, std::uint32_t count, std::int64_t block);

 private:
  using Times = std::unordered_map<std::int64_t, std::uint32_t>;  // per block

  struct Round {
    std::uint32_t count = 0;
    Times arrived;   // and when
    Times acquired;  // what those knew
  };

  Times times_;
  std::unordered_map<std::int64_t, Times> known_;
  std::unordered_map<const std::uint32_t*, Round> rounds_;
};

}  // namespace sinter::testing::cuda_on_cpu
