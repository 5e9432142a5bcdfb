// What is ordered before what among the threads of a cluster of blocks. Each warp counts the synchronisations
// that it took part in, and knows how far the others had counted when it last met them, directly or through
// others. Bulk copies are counted like warps of the block that they copy into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sinter::testing::cuda_on_cpu {

class Clocks {
 public:
  static constexpr int warp = 32;
  static constexpr int most_copies = 16;  // at a time, of a block

  using Times = std::vector<std::uint32_t>;  // per warp

  Clocks(int blocks, int block_threads)
      : block_warps_((block_threads + warp - 1) / warp),
        of_block_(static_cast<std::size_t>(block_warps_ + most_copies)),
        known_(static_cast<std::size_t>(blocks) * of_block_),
        synced_(known_.size()),
        arriving_(known_.size()),
        completed_(known_.size()) {
    start();
  }

  /// A new cluster: nothing has happened.
  void start() {
    for (Times& times : known_) times.assign(known_.size(), 0);
    for (Times* times : {&synced_, &arriving_, &completed_}) times->assign(known_.size(), 0);
  }

  /// Numbers in the cluster: of a warp, of a thread, and of what a bulk copy writes as.
  std::size_t warp_number(int rank, int w) const {
    return static_cast<std::size_t>(rank) * of_block_ + static_cast<std::size_t>(w);
  }
  int thread_number(int rank, int thread) const {
    return static_cast<int>(warp_number(rank, 0)) * warp + thread;
  }
  int copy_number(int rank, int copy) const { return thread_number(rank, (block_warps_ + copy) * warp); }
  bool is_copy(int number) const { return thread_in_block(number) >= block_warps_ * warp; }
  int thread_in_block(int number) const { return number % (static_cast<int>(of_block_) * warp); }

  std::uint32_t now(int thread) const {
    const std::size_t w = warp_of(thread);
    return known_[w][w];
  }

  /// Whether what `thread` did at its time `then` comes before what `other` does now.
  bool ordered(int thread, std::uint32_t then, int other) const {
    const std::size_t from = warp_of(thread), to = warp_of(other);
    return thread == other || (from == to ? synced_[to] : known_[to][from]) > then;
  }

  void sync_warp(std::size_t w) { synced_[w] = ++known_[w][w]; }

  void sync_block(int rank) {
    const std::size_t begin = warp_number(rank, 0), end = begin + static_cast<std::size_t>(block_warps_);
    Times& all = known_[begin];
    for (std::size_t w = begin; w < end; ++w) {
      sync_warp(w);
      join(all, known_[w]);
    }
    for (std::size_t w = begin + 1; w < end; ++w) known_[w] = all;
  }

  // The cluster's barrier, once for each warp.

  void arrive(std::size_t w) {
    ++known_[w][w];
    join(arriving_, known_[w]);
  }
  void complete() { completed_ = arriving_; }
  void wait(std::size_t w) {
    join(known_[w], completed_);
    synced_[w] = std::max(synced_[w], completed_[w]);
  }

  /// A thread starts a copy: what comes after its end comes after its start.
  void start_copy(int copy, int thread) {
    const std::size_t c = warp_of(copy), w = warp_of(thread);
    ++known_[w][w];
    join(known_[c], known_[w]);
  }
  /// The copy is done; what a warp has to know that waits for it.
  Times end_copy(int copy) {
    const std::size_t c = warp_of(copy);
    ++known_[c][c];
    return known_[c];
  }
  void acquire(std::size_t w, const Times& times) { join(known_[w], times); }

  /// Whether a thread knows that a block has started.
  bool knows_start(int thread, int rank) const {
    const Times& known = known_[warp_of(thread)];
    for (int w = 0; w < block_warps_; ++w)
      if (known[warp_number(rank, w)] > 0) return true;
    return false;
  }
  /// Whether any warp of a block, until now, comes after what `thread` did at its time `then`.
  bool block_knows(int rank, int thread, std::uint32_t then) const {
    for (int w = 0; w < block_warps_; ++w)
      if (ordered(thread, then, thread_number(rank, w * warp))) return true;
    return false;
  }

 private:
  static std::size_t warp_of(int number) { return static_cast<std::size_t>(number / warp); }

  static void join(Times& into, const Times& more) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], more[i]);
  }

  int block_warps_;
  std::size_t of_block_;
  std::vector<Times> known_;    // by each warp
  Times synced_;                // until when a warp's own lanes are ordered
  Times arriving_, completed_;  // at the cluster's barrier
};

}  // namespace sinter::testing::cuda_on_cpu
