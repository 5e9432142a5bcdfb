#include "tests/cuda_on_cpu/arrivals.h"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::testing::cuda_on_cpu {

std::string Arrivals::refusal(const std::uint32_t* counter, std::uint32_t count, std::int64_t block) const {
  const auto found = rounds_.find(counter);
  const std::size_t arrived = found == rounds_.end() ? 0 : found->second.arrived.size();
  if (count == 0 || *counter != arrived)
    return fmt::format("arrives at a counter that is {} after {} of {} arrivals", *counter, arrived, count);
  if (arrived == 0) return "";
  const Round& round = found->second;
  if (round.count != count)
    return fmt::format("arrives as one of {}, where others arrive as one of {}", count, round.count);
  if (round.arrived.contains(block)) return "arrives at a counter a second time before the last block has";
  return "";
}

bool Arrivals::arrive(std::uint32_t* counter, std::uint32_t count, std::int64_t block) {
  Round& round = rounds_[counter];
  const auto merge = [](Times& into, const Times& more) {
    for (const auto& [b, time] : more) into[b] = std::max(into[b], time);
  };
  round.count = count;
  round.arrived[block] = ++times_[block];
  if (const auto known = known_.find(block); known != known_.end()) merge(round.acquired, known->second);
  *counter = static_cast<std::uint32_t>(round.arrived.size());
  if (*counter != count) return false;
  merge(known_[block], round.arrived);
  merge(known_[block], round.acquired);
  *counter = 0;
  rounds_.erase(counter);
  return true;
}

}  // namespace sinter::testing::cuda_on_cpu
