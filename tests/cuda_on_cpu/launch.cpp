#include "tests/cuda_on_cpu/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>

#include "ir/base/check.h"
#include "tests/cuda_on_cpu/fiber.h"

namespace sinter::testing::cuda_on_cpu {
namespace {

constexpr int warp = Clocks::warp;

enum class State : std::uint8_t { ready, at_block_barrier, at_warp_barrier, at_shuffle, ended };

struct Thread {
  State state = State::ready;
  int line = 0;
  Shuffle shuffle{};
  int by = 0, bytes = 0;
  std::byte value[16];
};

struct FoundFault {
  Fault fault;
  int thread;
  std::string what;
  unsigned line;
  const void* caller = nullptr;  // where the line is not known
};

void arrange(std::vector<std::int64_t>& numbers, Order order, std::mt19937_64& random) {
  std::ranges::sort(numbers);
  if (order == Order::reverse) std::ranges::reverse(numbers);
  if (order == Order::random) std::ranges::shuffle(numbers, random);
}

std::vector<std::int64_t> numbers_below(std::int64_t n) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The launch that is running; what a kernel calls finds it here.
class Runner;
Runner* active = nullptr;

Fibers& fibers() {
  static Fibers all;
  return all;
}

class Runner {
 public:
  Runner(const Launch& launch, Memory& memory, Order order, std::uint64_t seed)
      : launch_(launch),
        memory_(memory),
        random_(seed),
        threads_(static_cast<std::size_t>(launch.block_threads)) {
    active = this;
    indices_ = launch.kernel->connect(
        {[](const void* at, std::size_t bytes, bool write, bool aligned, const void* caller) {
           active->access(at, bytes, write, aligned, caller);
         },
         [](const char* what, unsigned line) { active->stop(Fault::undefined, what, line); },
         [](const void* at, std::size_t alignment, unsigned line) {
           active->bad_pointer(at, alignment, line);
         },
         [](int line) { active->wait(State::at_block_barrier, line); },
         [](int line) { active->wait(State::at_warp_barrier, line); },
         [](Shuffle kind, void* value, int bytes, int by, int line) {
           active->shuffle(kind, value, bytes, by, line);
         }});
    *indices_.block_size = {static_cast<unsigned>(launch.block_threads), 1, 1};
    *indices_.grid_size = {static_cast<unsigned>(launch.blocks), 1, 1};
    warps_ = numbers_below((launch.block_threads + warp - 1) / warp);
    lanes_ = numbers_below(warp);
    arrange(warps_, order, random_);
    arrange(lanes_, order, random_);
  }
  ~Runner() { active = nullptr; }

  void run_block(std::int64_t block) {
    block_ = block;
    *indices_.block = {static_cast<unsigned>(block), 0, 0};
    memory_.start_block();
    clocks_ = Clocks();
    for (Thread& t : threads_) t.state = State::ready;
    const std::function<void()> body = [this] { launch_.kernel->run_thread(launch_.params.data()); };
    for (;;) {
      for (std::int64_t w : warps_) run_warp(static_cast<int>(w), body);
      if (unwritten_) {
        found_ = std::move(unwritten_);
        report();
      }
      if (std::ranges::all_of(threads_, [](const Thread& t) { return t.state == State::ended; })) return;
      const bool met = std::ranges::all_of(threads_, [&](const Thread& t) {
        return t.state == State::at_block_barrier && t.line == threads_[0].line;
      });
      if (!met) report_divergence(0, launch_.block_threads);
      clocks_.sync_block();
      for (Thread& t : threads_) t.state = State::ready;
    }
  }

 private:
  Thread& thread(int number) { return threads_[static_cast<std::size_t>(number)]; }
  int end_of(int w) const { return std::min((w + 1) * warp, launch_.block_threads); }

  /// Until all lanes wait for the block, or have ended.
  void run_warp(int w, const std::function<void()>& body) {
    const int begin = w * warp, end = end_of(w);
    for (;;) {
      for (std::int64_t lane : lanes_) {
        current_ = begin + static_cast<int>(lane);
        if (current_ >= end || thread(current_).state != State::ready) continue;
        indices_.thread->x = static_cast<unsigned>(current_);
        const bool ended = fibers().resume(current_, body);
        if (found_) report();
        if (ended) thread(current_).state = State::ended;
      }
      if (!meet_in_warp(w)) return;
    }
  }

  /// Lets the lanes of a warp go on if all that are left wait for each other at one place.
  bool meet_in_warp(int w) {
    const int begin = w * warp, end = end_of(w);
    const Thread* first = nullptr;
    bool together = true, with_block = true;
    for (int i = begin; i < end; ++i) {
      const Thread& t = thread(i);
      if (t.state == State::ended) continue;
      with_block = with_block && t.state == State::at_block_barrier;
      if (!first) first = &t;
      together = together && t.state == first->state && t.line == first->line && t.shuffle == first->shuffle;
    }
    if (!first || with_block) return false;
    if (!together) report_divergence(begin, end);
    if (first->state == State::at_shuffle)
      exchange(begin, end);
    else
      clocks_.sync_warp(w);
    for (int i = begin; i < end; ++i)
      if (thread(i).state != State::ended) thread(i).state = State::ready;
    return true;
  }

  void exchange(int begin, int end) {
    std::vector<Thread> before(threads_.begin() + begin, threads_.begin() + end);
    for (int i = begin; i < end; ++i) {
      Thread& t = thread(i);
      if (t.state == State::ended) continue;
      const int lane = i - begin;
      int from = t.shuffle == Shuffle::by_xor ? lane ^ t.by : t.shuffle == Shuffle::down ? lane + t.by : t.by;
      if (t.shuffle == Shuffle::down && from >= warp) from = lane;
      const bool here = from >= 0 && from < end - begin;
      if (!here || before[static_cast<std::size_t>(from)].state == State::ended) {
        found_ = {Fault::absent_lane, i,
                  fmt::format("a shuffle reads from lane {} of its warp, which {}", from,
                              here ? "has left the kernel" : "is not there"),
                  static_cast<unsigned>(t.line)};
        report();
      }
      std::memcpy(t.value, before[static_cast<std::size_t>(from)].value, sizeof t.value);
    }
  }

  // Called by the kernel, on the stack of a fiber.

  void wait(State state, int line) {
    thread(current_).state = state;
    thread(current_).line = line;
    const int self = current_;
    fibers().suspend();
    current_ = self;
  }

  void shuffle(Shuffle kind, void* value, int bytes, int by, int line) {
    Thread& t = thread(current_);
    t.shuffle = kind;
    t.by = by;
    std::memcpy(t.value, value, static_cast<std::size_t>(bytes));
    wait(State::at_shuffle, line);
    std::memcpy(value, t.value, static_cast<std::size_t>(bytes));
  }

  void access(const void* at, std::size_t bytes, bool write, bool aligned, const void* caller) {
    if (fibers().on_stack(at)) return;
    if (aligned && reinterpret_cast<std::uintptr_t>(at) % bytes != 0) misaligned(at, bytes, caller);
    const auto* place = static_cast<const std::byte*>(at);
    auto fault = memory_.access(place, bytes, write, {block_, current_}, clocks_);
    if (!fault) return;
    FoundFault found{fault->fault, current_, std::move(fault->what), 0, caller};
    if (found.fault != Fault::uninitialised) leave(std::move(found));
    if (!unwritten_) unwritten_ = std::move(found);
  }

  [[noreturn]] void misaligned(const void* at, std::size_t alignment, const void* caller) {
    leave({Fault::misaligned, current_, misalignment(at, alignment), 0, caller});
  }

  static std::string misalignment(const void* at, std::size_t alignment) {
    return fmt::format("an access needs an address that {} divides; this one is {} bytes beyond", alignment,
                       reinterpret_cast<std::uintptr_t>(at) % alignment);
  }

  void bad_pointer(const void* at, std::size_t alignment, unsigned line) {
    if (at == nullptr) stop(Fault::out_of_range, "a null pointer is used", line);
    leave({Fault::misaligned, current_, misalignment(at, alignment), line});
  }

  [[noreturn]] void stop(Fault fault, const char* what, unsigned line) {
    leave({fault, current_, what, line});
  }

  [[noreturn]] void leave(FoundFault fault) {
    found_ = std::move(fault);
    fibers().abandon();
  }

  // On the stack of the simulator.

  [[noreturn]] void report() {
    fibers().reset();
    const std::string line =
        found_->caller ? launch_.kernel->line_at(found_->caller) : launch_.kernel->line(found_->line);
    throw KernelFault(found_->fault,
                      fmt::format("{}, block {}, thread {}: {}{}{}", launch_.kernel->name(), block_,
                                  found_->thread, found_->what, line.empty() ? "" : "\n  ", line));
  }

  std::string state_of(const Thread& t) const {
    const std::string place = launch_.kernel->line(static_cast<unsigned>(t.line));
    if (t.state == State::ended) return "have ended";
    if (t.state == State::at_block_barrier) return "wait for the block at " + place;
    if (t.state == State::at_warp_barrier) return "wait for the warp at " + place;
    return "wait at a shuffle, " + place;
  }

  /// Threads [begin, end) are not all at one place.
  [[noreturn]] void report_divergence(int begin, int end) {
    std::string text;
    for (int i = begin; i < end;) {
      const std::string state = state_of(thread(i));
      const int first = i;
      while (i < end && state_of(thread(i)) == state) ++i;
      text += fmt::format("\n  threads {} to {} {}", first, i - 1, state);
    }
    fibers().reset();
    throw KernelFault(Fault::divergence, fmt::format("{}, block {}: threads that must meet do not{}",
                                                     launch_.kernel->name(), block_, text));
  }

  const Launch& launch_;
  Memory& memory_;
  std::mt19937_64 random_;
  std::vector<Thread> threads_;
  std::vector<std::int64_t> warps_, lanes_;
  LaunchIndices indices_;
  Clocks clocks_;
  std::int64_t block_ = 0;
  int current_ = 0;
  std::optional<FoundFault> found_;
  std::optional<FoundFault> unwritten_;  // told when no write has followed until the next barrier
};

void poison(const Launch& launch, int pattern) {
  for (const Region& r : launch.buffers)
    if (r.kind == Region::Kind::output) std::memset(r.data, pattern, static_cast<std::size_t>(r.bytes));
}

std::vector<std::byte> outputs_of(const Launch& launch) {
  std::vector<std::byte> bytes;
  for (const Region& r : launch.buffers)
    if (r.kind == Region::Kind::output) bytes.insert(bytes.end(), r.data, r.data + r.bytes);
  return bytes;
}

[[noreturn]] void report_difference(const Launch& launch, std::int64_t at) {
  for (const Region& r : launch.buffers) {
    if (r.kind != Region::Kind::output) continue;
    if (at < r.bytes)
      throw KernelFault(Fault::depends_on_order,
                        fmt::format("{}: byte {} of {} is another after another order of the threads, or is "
                                    "never written",
                                    launch.kernel->name(), at, r.name));
    at -= r.bytes;
  }
  throw KernelFault(Fault::depends_on_order, launch.kernel->name());
}

}  // namespace

Memory run_blocks(const Launch& launch, std::vector<std::int64_t> blocks, Order order, std::uint64_t seed) {
  SINTER_ASSERT(launch.block_threads >= 1 && launch.block_threads <= Fibers::most,
                "{}: {} threads in a block", launch.kernel->name(), launch.block_threads);
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  std::vector<Region> regions = launch.buffers;
  for (const Region& r : launch.kernel->shared_arrays()) regions.push_back(r);
  auto* const params = const_cast<std::byte*>(launch.params.data());  // read only
  regions.push_back({"the parameters", Region::Kind::input, params, std::ssize(launch.params), 1});
  Memory memory(std::move(regions));
  std::mt19937_64 random(seed);
  arrange(blocks, order, random);
  Runner runner(launch, memory, order, seed);
  for (std::int64_t block : blocks) runner.run_block(block);
  return memory;
}

std::vector<std::int64_t> first_middle_last(std::int64_t blocks) {
  std::vector<std::int64_t> some{0, 1, blocks / 2, blocks - 2, blocks - 1};
  std::erase_if(some, [&](std::int64_t b) { return b < 0 || b >= blocks; });
  some.erase(std::ranges::unique(some).begin(), some.end());
  return some;
}

void run_launch(const Launch& launch) {
  if (launch.blocks * launch.block_threads > most_threads) {
    for (Order order : {Order::forward, Order::reverse, Order::random})
      run_blocks(launch, first_middle_last(launch.blocks), order, 1);
    return;
  }
  constexpr std::int64_t small = 1 << 16;  // threads
  std::vector<std::byte> first;
  for (Order order : {Order::forward, Order::reverse, Order::random}) {
    if (order == Order::random && launch.blocks * launch.block_threads > small) break;
    poison(launch, order == Order::forward ? 0xff : order == Order::reverse ? 0x7b : 0x00);
    run_blocks(launch, numbers_below(launch.blocks), order, 1);
    std::vector<std::byte> got = outputs_of(launch);
    if (order == Order::forward) {
      first = std::move(got);
      continue;
    }
    const auto [a, b] = std::ranges::mismatch(first, got);
    if (a != first.end()) report_difference(launch, a - first.begin());
  }
}

}  // namespace sinter::testing::cuda_on_cpu
