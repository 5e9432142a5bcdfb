#include "tests/cuda_on_cpu/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/cuda_on_cpu/fiber.h"

namespace sinter::testing::cuda_on_cpu {

void arrange(std::vector<std::int64_t>& numbers, Order order, std::mt19937_64& random) {
  if (order == Order::reverse) std::ranges::reverse(numbers);
  if (order == Order::random) std::ranges::shuffle(numbers, random);
}

std::vector<std::int64_t> numbers_below(std::int64_t n) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Runner::Runner(const Launch& launch, Memory& memory, std::byte* dynamic_shared, Order order,
               std::uint64_t seed)
    : launch_(launch),
      memory_(memory),
      dynamic_shared_(dynamic_shared),
      random_(seed),
      threads_(static_cast<std::size_t>(launch.blocks_at_once() * launch.block_threads)),
      blocks_(static_cast<std::size_t>(launch.blocks_at_once())),
      shared_(launch.kernel->shared_arrays()),
      indices_(launch.kernel->connect(hooks())),
      body_([this] { launch_.kernel->run_thread(launch_.params.data()); }),
      clocks_(launch.blocks_at_once(), launch.block_threads) {
  *indices_.block_size = {static_cast<unsigned>(launch.block_threads), 1, 1};
  *indices_.grid_size = {static_cast<unsigned>(launch.blocks), 1, 1};
  shared_.push_back({"", Region::Kind::shared, dynamic_shared, launch.shared_bytes, 1});
  std::int64_t bytes = 0;
  for (const Region& r : shared_) bytes += r.bytes;
  for (Block& b : blocks_) b.shared.resize(static_cast<std::size_t>(launch.blocks_at_once() > 1 ? bytes : 0));
  ranks_ = numbers_below(launch.blocks_at_once());
  warps_ = numbers_below((launch.block_threads + warp - 1) / warp);
  lanes_ = numbers_below(warp);
  arrange(ranks_, order, random_);
  arrange(warps_, order, random_);
  arrange(lanes_, order, random_);
}

void Runner::run_cluster(std::int64_t number) {
  first_block_ = number * launch_.blocks_at_once();
  memory_.start_cluster();
  clocks_.start();
  arrived_ = 0;
  cluster_meets_ = 0;
  for (Block& b : blocks_) {
    b.copies.start();
    b.arrivals = 0;
    b.stored.clear();
  }
  for (Thread& t : threads_) t = Thread{};
  for (;;) {
    bool has_run = false, all_ended = true;
    for (std::int64_t rank : ranks_) {
      has_run |= run_block(static_cast<int>(rank));
      all_ended &= has_ended(static_cast<int>(rank));
    }
    if (all_ended) break;
    if (!has_run) report_stuck();
  }
  check_end();
}

/// Puts a block's shared memory in the place of that of another.
void Runner::enter(int rank) {
  *indices_.block = {static_cast<unsigned>(first_block_ + rank), 0, 0};
  if (rank == in_place_) return;
  std::size_t at = 0;
  for (const Region& r : shared_) {
    const auto bytes = static_cast<std::size_t>(r.bytes);
    if (bytes == 0) continue;
    std::memcpy(block_at(in_place_).shared.data() + at, r.data, bytes);
    std::memcpy(r.data, block_at(rank).shared.data() + at, bytes);
    at += bytes;
  }
  in_place_ = rank;
}

bool Runner::has_ended(int rank) const {
  const auto begin = threads_.begin() + rank * launch_.block_threads;
  return std::all_of(begin, begin + launch_.block_threads,
                     [](const Thread& t) { return t.state == State::ended; });
}

/// Until the block has ended, or waits for others of its cluster. Whether any of it has run.
bool Runner::run_block(int rank) {
  if (has_ended(rank)) return false;
  enter(rank);
  for (bool has_run = false;; has_run = true) {
    bool more = false;
    for (std::int64_t w : warps_) more |= run_warp(rank, static_cast<int>(w));
    if (unwritten_) report(*unwritten_);
    if (has_ended(rank)) {
      if (const int line = block_at(rank).copies.line_under_way(); line != 0)
        report({Fault::in_flight, first_of(rank), "the block ends before a bulk copy has come",
                static_cast<unsigned>(line)});
      return true;
    }
    if (!more && !meet_in_block(rank)) return has_run;
  }
}

/// Lets a block go on if all of it waits at one place.
bool Runner::meet_in_block(int rank) {
  const int begin = first_of(rank), end = begin + launch_.block_threads;
  const Thread& first = thread(begin);
  bool together = true, for_others = false;
  for (int i = begin; i < end; ++i) {
    const Thread& t = thread(i);
    together = together && t.state == first.state && t.line == first.line && t.place == first.place &&
               t.number == first.number;
    for_others = for_others || t.state == State::at_cluster_wait || t.state == State::at_message;
  }
  if (together && first.state == State::at_block_barrier) {
    clocks_.sync_block(rank);
  } else if (together && first.state == State::at_counter) {
    meet_at_counter(rank);
  } else if (together && first.state == State::at_ticket) {
    meet_at_ticket(rank);
  } else {
    if (!for_others) report_stuck();
    return false;
  }
  for (int i = begin; i < end; ++i) thread(i).state = State::ready;
  return true;
}

void Runner::meet_at_counter(int rank) {
  const Thread& t = thread(first_of(rank));
  auto* const counter = static_cast<std::uint32_t*>(const_cast<void*>(t.place));
  const std::int64_t block = first_block_ + rank;
  clocks_.sync_block(rank);
  if (const std::string text = arrivals_.refusal(counter, t.number, block); !text.empty())
    report({Fault::counter, first_of(rank), text, static_cast<unsigned>(t.line)});
  const bool is_last = arrivals_.arrive(counter, t.number, block);
  ++block_at(rank).arrivals;
  clocks_.sync_block(rank);
  for (int i = 0; i < launch_.block_threads; ++i) thread(first_of(rank) + i).is_last = is_last;
}

void Runner::meet_at_ticket(int rank) {
  const Thread& t = thread(first_of(rank));
  auto* const counter = static_cast<std::uint32_t*>(const_cast<void*>(t.place));
  clocks_.sync_block(rank);
  const std::uint32_t ticket = *counter, count = t.number;
  if (ticket >= count)
    report({Fault::counter, first_of(rank), fmt::format("takes ticket {} of {}", ticket, count),
            static_cast<unsigned>(t.line)});
  *counter = ticket + 1 == count ? 0 : ticket + 1;
  for (int i = 0; i < launch_.block_threads; ++i) thread(first_of(rank) + i).ticket = ticket;
}

/// Whether the messages that lanes wait for were sent.
bool Runner::have_come(int begin, int end) const {
  for (int i = begin; i < end; ++i) {
    const Thread& t = threads_[static_cast<std::size_t>(i)];
    if (t.state == State::ended) continue;
    const auto* const words = static_cast<const std::uint64_t*>(t.place);
    if (std::any_of(words, words + t.number, [](std::uint64_t w) { return w >> 32 == 0; })) return false;
  }
  return true;
}

/// Until all lanes have ended, or wait for more than each other. Whether any has run.
bool Runner::run_warp(int rank, int w) {
  const int begin = first_of(rank) + w * warp, end = end_of(rank, w);
  for (bool has_run = false;;) {
    for (std::int64_t lane : lanes_) {
      current_ = begin + static_cast<int>(lane);
      if (current_ >= end || thread(current_).state != State::ready) continue;
      has_run = true;
      indices_.thread->x = static_cast<unsigned>(current_ - first_of(rank));
      const bool ended = fibers().resume(current_, body_);
      if (found_) report(*found_);
      if (ended) thread(current_).state = State::ended;
    }
    if (!meet_in_warp(rank, w)) return has_run;
    has_run = true;
  }
}

/// Lets the lanes of a warp go on if all that are left wait at one place for nobody else.
bool Runner::meet_in_warp(int rank, int w) {
  const int begin = first_of(rank) + w * warp, end = end_of(rank, w);
  const Thread* first = nullptr;
  bool together = true, with_block = true;
  for (int i = begin; i < end; ++i) {
    const Thread& t = thread(i);
    if (t.state == State::ended) continue;
    with_block = with_block && (t.state == State::at_block_barrier || t.state == State::at_counter ||
                                t.state == State::at_ticket);
    if (!first) first = &t;
    together = together && t.state == first->state && t.line == first->line && t.shuffle == first->shuffle;
    if (t.state == State::at_copy_wait)
      together = together && t.place == first->place && t.number == first->number;
  }
  if (!first || with_block) return false;
  if (!together) report_divergence(begin, end);
  if (first->state == State::at_shuffle) exchange(begin, end);
  if (first->state == State::at_warp_barrier) clocks_.sync_warp(clocks_.warp_number(rank, w));
  if (first->state == State::at_cluster_arrival) arrive_at_cluster(rank, w);
  if (first->state == State::at_cluster_wait && !wait_for_cluster(rank, w)) return false;
  if (first->state == State::at_copy_wait && !wait_for_copy(rank, w)) return false;
  if (first->state == State::at_message && !have_come(begin, end)) return false;
  for (int i = begin; i < end; ++i)
    if (thread(i).state != State::ended) thread(i).state = State::ready;
  return true;
}

void Runner::exchange(int begin, int end) {
  std::vector<Thread> before(threads_.begin() + begin, threads_.begin() + end);
  for (int i = begin; i < end; ++i) {
    Thread& t = thread(i);
    if (t.state == State::ended) continue;
    const int lane = i - begin;
    int from = t.shuffle == Shuffle::by_xor ? lane ^ t.by : t.shuffle == Shuffle::down ? lane + t.by : t.by;
    if (t.shuffle == Shuffle::down && from >= warp) from = lane;
    const bool here = from >= 0 && from < end - begin;
    if (!here || before[static_cast<std::size_t>(from)].state == State::ended)
      report({Fault::absent_lane, i,
              fmt::format("a shuffle reads from lane {} of its warp, which {}", from,
                          here ? "has left the kernel" : "is not there"),
              static_cast<unsigned>(t.line)});
    std::memcpy(t.value, before[static_cast<std::size_t>(from)].value, sizeof t.value);
  }
}

void Runner::arrive_at_cluster(int rank, int w) {
  for (int i = first_of(rank) + w * warp; i < end_of(rank, w); ++i) {
    Thread& t = thread(i);
    if (t.state == State::ended) continue;
    if (t.has_arrived)
      report({Fault::divergence, i, "arrives for the cluster again, with no wait in between",
              static_cast<unsigned>(t.line)});
    t.has_arrived = true;
    ++arrived_;
  }
  clocks_.arrive(clocks_.warp_number(rank, w));
  if (arrived_ < static_cast<int>(threads_.size())) return;
  arrived_ = 0;
  ++cluster_meets_;
  clocks_.complete();
}

bool Runner::wait_for_cluster(int rank, int w) {
  const int begin = first_of(rank) + w * warp, end = end_of(rank, w);
  for (int i = begin; i < end; ++i) {
    const Thread& t = thread(i);
    if (t.state == State::ended) continue;
    if (!t.has_arrived)
      report({Fault::divergence, i, "waits for the cluster without having arrived",
              static_cast<unsigned>(t.line)});
    if (t.waits == cluster_meets_) return false;
  }
  for (int i = begin; i < end; ++i) {
    thread(i).has_arrived = false;
    ++thread(i).waits;
  }
  clocks_.wait(clocks_.warp_number(rank, w));
  return true;
}

bool Runner::wait_for_copy(int rank, int w) {
  const int begin = first_of(rank) + w * warp, end = end_of(rank, w);
  int i = begin;
  while (i < end && thread(i).state == State::ended) ++i;
  Clocks::Times knowledge;
  BulkCopies& copies = block_at(rank).copies;
  if (!copies.try_wait(thread(i).place, thread(i).number, clocks_, rank, knowledge)) return false;
  if (!knowledge.empty()) clocks_.acquire(clocks_.warp_number(rank, w), knowledge);
  return true;
}

/// Whether each block has stayed for what others have stored into it.
void Runner::check_end() {
  for (int rank = 0; rank < launch_.blocks_at_once(); ++rank)
    for (const auto& [warp_of_store, store] : block_at(rank).stored)
      if (!clocks_.block_knows(rank, store.number, store.time))
        report(
            {Fault::absent_block, store.thread,
             fmt::format("stores into block {}, which may have ended: nothing that it waits for comes after",
                         first_block_ + rank),
             static_cast<unsigned>(store.line)});
}

// Faults.

void Runner::report(const Found& found) {
  fibers().reset();
  const std::string line =
      found.caller ? launch_.kernel->line_at(found.caller) : launch_.kernel->line(found.line);
  throw KernelFault(found.fault,
                    fmt::format("{}, block {}, thread {}: {}{}{}", launch_.kernel->name(),
                                first_block_ + rank_of(found.number), found.number % launch_.block_threads,
                                found.what, line.empty() ? "" : "\n  ", line));
}

std::string Runner::state_of(const Thread& t) const {
  const std::string place = launch_.kernel->line(static_cast<unsigned>(t.line));
  if (t.state == State::ended) return "have ended";
  if (t.state == State::at_block_barrier) return "wait for the block at " + place;
  if (t.state == State::at_counter) return "arrive at a counter, " + place;
  if (t.state == State::at_ticket) return "take a ticket, " + place;
  if (t.state == State::at_message) return "wait for a message at " + place;
  if (t.state == State::at_warp_barrier) return "wait for the warp at " + place;
  if (t.state == State::at_cluster_arrival) return "arrive for the cluster at " + place;
  if (t.state == State::at_cluster_wait) return "wait for the cluster at " + place;
  if (t.state == State::at_copy_wait) return "wait for a bulk copy at " + place;
  return "wait at a shuffle, " + place;
}

/// Threads [begin, end) of one block.
std::string Runner::states_of(int begin, int end) const {
  std::string text;
  const int first_thread = first_of(rank_of(begin));
  const auto state = [&](int i) { return state_of(threads_[static_cast<std::size_t>(i)]); };
  for (int i = begin; i < end;) {
    const std::string now = state(i);
    const int first = i;
    while (i < end && state(i) == now) ++i;
    text += fmt::format("\n  threads {} to {} {}", first - first_thread, i - 1 - first_thread, now);
  }
  return text;
}

/// Threads [begin, end) of one block are not all at one place.
void Runner::report_divergence(int begin, int end) {
  fibers().reset();
  throw KernelFault(Fault::divergence,
                    fmt::format("{}, block {}: threads that must meet do not{}", launch_.kernel->name(),
                                first_block_ + rank_of(begin), states_of(begin, end)));
}

/// Nothing can go on.
void Runner::report_stuck() {
  for (std::size_t i = 0; i < threads_.size(); ++i)
    if (threads_[i].state == State::at_copy_wait)
      report({Fault::deadlock, static_cast<int>(i), "waits for a bulk copy that nothing starts",
              static_cast<unsigned>(threads_[i].line)});
  for (std::size_t i = 0; i < threads_.size(); ++i)
    if (threads_[i].state == State::at_message)
      report({Fault::deadlock, static_cast<int>(i),
              "waits for a message that no block sends that has started",
              static_cast<unsigned>(threads_[i].line)});
  if (launch_.blocks_at_once() == 1) report_divergence(0, launch_.block_threads);
  fibers().reset();
  std::string text;
  for (int rank = 0; rank < launch_.blocks_at_once(); ++rank)
    text += fmt::format("\n  block {}:{}", first_block_ + rank,
                        states_of(first_of(rank), first_of(rank) + launch_.block_threads));
  throw KernelFault(Fault::divergence, fmt::format("{}, block {}: threads that must meet do not{}",
                                                   launch_.kernel->name(), first_block_, text));
}

}  // namespace sinter::testing::cuda_on_cpu
