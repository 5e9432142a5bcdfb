// What is ordered before what among the threads of a block. Each warp counts the synchronisations that it
// took part in, and knows how far the others had counted when it last met them.
#pragma once

#include <array>
#include <cstdint>

namespace sinter::testing::cuda_on_cpu {

class Clocks {
 public:
  static constexpr int warp = 32, most_warps = 32;

  std::uint32_t now(int thread) const {
    const auto w = static_cast<std::size_t>(thread / warp);
    return known_[w][w];
  }

  /// Whether what `thread` did at its time `then` comes before what `other` does now.
  bool ordered(int thread, std::uint32_t then, int other) const {
    const auto from = static_cast<std::size_t>(thread / warp), to = static_cast<std::size_t>(other / warp);
    return thread == other || known_[to][from] > then;
  }

  void sync_warp(int number) {
    const auto w = static_cast<std::size_t>(number);
    ++known_[w][w];
  }

  void sync_block() {
    std::array<std::uint32_t, most_warps> all;
    for (std::size_t w = 0; w < most_warps; ++w) all[w] = ++known_[w][w];
    known_.fill(all);
  }

 private:
  std::array<std::array<std::uint32_t, most_warps>, most_warps> known_{};
};

}  // namespace sinter::testing::cuda_on_cpu
