// The threads of a cluster of blocks, or of blocks that wait for each other's messages, each a fiber. One
// runs until it waits for others; then it is another's turn. A warp goes as far as it can before the next,
// and a block before the next block of its cluster.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/arrivals.h"
#include "tests/cuda_on_cpu/bulk_copies.h"
#include "tests/cuda_on_cpu/clocks.h"
#include "tests/cuda_on_cpu/launch.h"
#include "tests/cuda_on_cpu/memory.h"

namespace sinter::testing::cuda_on_cpu {

/// Puts ascending numbers into an order.
void arrange(std::vector<std::int64_t>& numbers, Order order, std::mt19937_64& random);
/// 0, 1, ... n - 1.
std::vector<std::int64_t> numbers_below(std::int64_t n);

class Runner {
 public:
  /// `dynamic_shared` is the memory that the launch adds to the kernel's own shared arrays.
  Runner(const Launch& launch, Memory& memory, std::byte* dynamic_shared, Order order, std::uint64_t seed);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();

  void run_cluster(std::int64_t number);

 private:
  static constexpr int warp = Clocks::warp;

  enum class State : std::uint8_t {
    ready,
    at_block_barrier,
    at_counter,
    at_ticket,
    at_message,
    at_warp_barrier,
    at_shuffle,
    at_cluster_arrival,
    at_cluster_wait,
    at_copy_wait,
    ended
  };

  struct Thread {
    State state = State::ready;
    int line = 0;
    Shuffle shuffle{};
    int by = 0;
    std::byte value[16];
    const void* place = nullptr;  // the counter, the barrier or the message
    std::uint32_t number = 0;     // of arrivals, tickets or words, or the parity
    std::uint32_t ticket = 0;
    bool is_last = false;
    std::uint32_t waits = 0;   // for the cluster, that are over
    bool has_arrived = false;  // for the next
  };

  struct Found {
    Fault fault;
    int number;  // of the thread, in all blocks of the cluster
    std::string what;
    unsigned line;
    const void* caller = nullptr;  // where the line is not known
  };

  /// A store into another block's shared memory.
  struct RemoteStore {
    int thread, number, line;
    std::uint32_t time;
  };

  struct Block {
    std::vector<std::byte> shared;  // while another block's is in place
    BulkCopies copies;
    std::uint32_t arrivals = 0;
    std::map<std::pair<int, int>, RemoteStore> stored;  // the last, by rank and warp of who stored it
  };

  // Turns.
  Thread& thread(int number) { return threads_[static_cast<std::size_t>(number)]; }
  Block& block_at(int rank) { return blocks_[static_cast<std::size_t>(rank)]; }
  const Block& block_at(int rank) const { return blocks_[static_cast<std::size_t>(rank)]; }
  int first_of(int rank) const { return rank * launch_.block_threads; }
  int rank_of(int number) const { return number / launch_.block_threads; }
  int end_of(int rank, int w) const {
    return first_of(rank) + std::min((w + 1) * warp, launch_.block_threads);
  }
  void enter(int rank);
  bool run_block(int rank);
  bool has_ended(int rank) const;
  bool meet_in_block(int rank);
  bool run_warp(int rank, int w);
  bool meet_in_warp(int rank, int w);
  void exchange(int begin, int end);
  void arrive_at_cluster(int rank, int w);
  bool wait_for_cluster(int rank, int w);
  bool wait_for_copy(int rank, int w);
  void meet_at_counter(int rank);
  void meet_at_ticket(int rank);
  bool have_come(int begin, int end) const;
  void check_end();

  // What the kernel calls, on the stack of a fiber.
  Hooks hooks();
  void wait(State state, int line, const void* place = nullptr, std::uint32_t number = 0);
  void shuffle(Shuffle kind, void* value, int bytes, int by, int line);
  void access(const void* at, std::size_t bytes, bool write, bool aligned, const void* caller);
  bool arrive_last(std::uint32_t* counter, std::uint32_t count, int line);
  std::uint32_t take_ticket(std::uint32_t* counter, std::uint32_t count, int line);
  void send(std::uint64_t* words, const std::uint32_t* halves, int n, int line);
  void receive(const std::uint64_t* words, std::uint32_t* halves, int n, int line);
  void clear_received(std::uint64_t* words, int n, std::uint32_t* readers, std::uint32_t count, int line);
  void check_counter(const void* at, std::size_t bytes, std::size_t alignment, const char* what, int line);
  void store_to_block(void* mine, int rank, const void* value, std::size_t bytes, int line);
  void init_copy(const void* barrier, int line);
  void load_copy(std::byte* to, const std::byte* from, std::uint32_t bytes, const void* barrier, int line);
  void wait_copy(const void* barrier, std::uint32_t parity, int line);
  void prefetch(const std::byte* from, std::uint32_t bytes, int line);
  void touch_barrier(const void* barrier, bool write, int line);
  void bad_pointer(const void* at, std::size_t alignment, unsigned line);
  void check_multiple_of_16(std::uint64_t x, const char* what, int line);
  Accessor accessor() const;
  [[noreturn]] void stop(MemoryFault fault, int line);
  [[noreturn]] void stop(Fault fault, std::string what, int line);
  [[noreturn]] void leave(Found fault);

  // On the stack of the simulator.
  [[noreturn]] void report(const Found& found);
  std::string state_of(const Thread& t) const;
  std::string states_of(int begin, int end) const;
  [[noreturn]] void report_divergence(int begin, int end);
  [[noreturn]] void report_stuck();

  const Launch& launch_;
  Memory& memory_;
  std::byte* dynamic_shared_;
  std::mt19937_64 random_;
  std::vector<Thread> threads_;
  std::vector<Block> blocks_;
  std::vector<std::int64_t> ranks_, warps_, lanes_;
  std::vector<Region> shared_;  // what every block has of its own
  LaunchIndices indices_;
  const std::function<void()> body_;
  Clocks clocks_;
  Arrivals arrivals_;
  std::set<std::pair<const void*, std::int64_t>> has_read_;  // the counter of readers, and the block
  std::int64_t first_block_ = 0;
  int in_place_ = 0;  // whose shared memory is where the kernel looks for it
  int current_ = 0;
  int arrived_ = 0;                  // threads, for the cluster
  std::uint32_t cluster_meets_ = 0;  // so far
  std::optional<Found> found_;
  std::optional<Found> unwritten_;  // told when no write has followed until the threads meet
};

}  // namespace sinter::testing::cuda_on_cpu
