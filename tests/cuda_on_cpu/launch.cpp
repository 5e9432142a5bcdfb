#include "tests/cuda_on_cpu/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>

#include "ir/base/check.h"
#include "tests/cuda_on_cpu/fiber.h"
#include "tests/cuda_on_cpu/memory.h"
#include "tests/cuda_on_cpu/runner.h"

namespace sinter::testing::cuda_on_cpu {
namespace {

using Kind = Region::Kind;

/// What the kernel finds: zeros in counters, and a pattern in all that it computes.
void prepare(const Launch& launch, int pattern) {
  for (const Region& r : launch.buffers) {
    if (r.kind == Kind::input) continue;
    if (r.coverage != nullptr)
      r.coverage->begin(pattern);
    else
      std::memset(r.data, r.kind == Kind::counters ? 0 : pattern, static_cast<std::size_t>(r.bytes));
  }
}

/// The next launch finds the counters as this one leaves them.
void check_counters(const Launch& launch) {
  for (const Region& r : launch.buffers) {
    if (r.kind != Kind::counters) continue;
    for (std::int64_t i = 0; i < r.bytes; i += sizeof(std::uint32_t)) {
      std::uint32_t count = 0;
      std::memcpy(&count, r.data + i, sizeof count);
      if (count != 0)
        throw KernelFault(Fault::counter,
                          fmt::format("{}: after all blocks the counter at {} of {} is {}, not 0",
                                      launch.kernel->name(), i, r.name, count));
    }
  }
}

bool has_counters(const Launch& launch) {
  return std::ranges::any_of(launch.buffers, [](const Region& r) { return r.kind == Kind::counters; });
}

/// Per buffer, what the launch has left in it; nothing for those that are no outputs.
using Outputs = std::vector<std::vector<std::byte>>;

Outputs outputs_of(const Launch& launch) {
  Outputs outputs;
  for (const Region& r : launch.buffers) {
    std::vector<std::byte>& bytes = outputs.emplace_back();
    if (r.kind != Region::Kind::output) continue;
    if (r.coverage != nullptr)
      bytes = r.coverage->written();
    else
      bytes.assign(r.data, r.data + r.bytes);
  }
  return outputs;
}

void check_same(const Launch& launch, const Outputs& first, const Outputs& second) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Region& r = launch.buffers[i];
    const auto [a, b] = std::ranges::mismatch(first[i], second[i]);
    if (a == first[i].end()) continue;
    if (const std::int64_t at = a - first[i].begin(); at < r.bytes)
      throw KernelFault(Fault::depends_on_order,
                        fmt::format("{}: byte {} of {} is another after another order of the threads, or is "
                                    "never written",
                                    launch.kernel->name(), at, r.name));
    throw KernelFault(Fault::depends_on_order,
                      fmt::format("{}: another order of the threads writes other elements of {}",
                                  launch.kernel->name(), r.name));
  }
}

}  // namespace

void run_blocks(const Launch& launch, const std::vector<std::int64_t>& blocks, Order order,
                std::uint64_t seed) {
  SINTER_ASSERT(launch.block_threads >= 1 && launch.block_threads <= most_block_threads,
                "{}: {} threads in a block", launch.kernel->name(), launch.block_threads);
  const int at_once = launch.blocks_at_once();
  SINTER_ASSERT(at_once >= 1 && at_once * launch.block_threads <= most_threads_at_once && launch.blocks > 0 &&
                    launch.blocks % at_once == 0 && std::min(launch.cluster, launch.together) == 1,
                "{}: {} blocks of {} threads in clusters of {}, {} at a time", launch.kernel->name(),
                launch.blocks, launch.block_threads, launch.cluster, launch.together);
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  std::vector<Region> regions = launch.buffers;
  for (const Region& r : launch.kernel->shared_arrays()) regions.push_back(r);
  const LonelyMemory dynamic(launch.shared_bytes, 128);
  regions.push_back({"the dynamic shared memory", Kind::shared, dynamic.data(), launch.shared_bytes, 1});
  auto* const params = const_cast<std::byte*>(launch.params.data());  // read only
  regions.push_back({"the parameters", Kind::input, params, std::ssize(launch.params), 1});
  Memory memory(std::move(regions), at_once);
  std::vector<std::int64_t> clusters;
  for (std::int64_t block : blocks)
    if (clusters.empty() || clusters.back() != block / at_once) clusters.push_back(block / at_once);
  std::mt19937_64 random(seed);
  arrange(clusters, order, random);
  Runner runner(launch, memory, dynamic.data(), order, seed);
  for (std::int64_t cluster : clusters) runner.run_cluster(cluster);
}

std::vector<std::int64_t> first_middle_last(std::int64_t blocks) {
  std::vector<std::int64_t> some{0, 1, blocks / 2, blocks - 2, blocks - 1};
  std::erase_if(some, [&](std::int64_t b) { return b < 0 || b >= blocks; });
  some.erase(std::ranges::unique(some).begin(), some.end());
  return some;
}

void run_launch(const Launch& launch) {
  if (launch.blocks * launch.block_threads > most_threads) {
    SINTER_ASSERT(!has_counters(launch),
                  "{}: {} blocks of {} threads are too many to run all, of which one is the last",
                  launch.kernel->name(), launch.blocks, launch.block_threads);
    for (const Region& r : launch.buffers)
      if (r.coverage != nullptr) r.coverage->give_up();
    for (Order order : {Order::forward, Order::reverse, Order::random})
      run_blocks(launch, first_middle_last(launch.blocks), order, 1);
    return;
  }
  constexpr std::int64_t small = 1 << 16;  // threads
  Outputs first;
  for (Order order : {Order::forward, Order::reverse, Order::random}) {
    if (order == Order::random && launch.blocks * launch.block_threads > small) break;
    prepare(launch, order == Order::forward ? 0xff : order == Order::reverse ? 0x7b : 0x00);
    run_blocks(launch, numbers_below(launch.blocks), order, 1);
    check_counters(launch);
    Outputs got = outputs_of(launch);
    if (order == Order::forward)
      first = std::move(got);
    else
      check_same(launch, first, got);
  }
  for (const Region& r : launch.buffers)
    if (r.coverage != nullptr) r.coverage->end();
}

}  // namespace sinter::testing::cuda_on_cpu
