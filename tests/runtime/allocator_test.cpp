#include "runtime/allocator.h"

#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "runtime/buffer.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int64_t no_limit = std::int64_t{1} << 60;

std::int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

}  // namespace

TEST_CASE("blocks are a multiple of 64 bytes and at most a quarter too large") {
  std::int64_t before = 0;
  for (std::int64_t bytes = 0; bytes < 300'000; bytes += 1 + bytes / 64) {
    const std::int64_t block = block_bytes(bytes);
    CHECK(block % 64 == 0);
    CHECK(block >= bytes);
    CHECK(block >= before);
    CHECK(block <= std::max<std::int64_t>(bytes + 64, bytes + bytes / 4));
    CHECK(block_bytes(block) == block);
    before = block;
  }
  CHECK(block_bytes(0) == 64);
  CHECK(block_bytes((std::int64_t{1} << 40) + 1) == (std::int64_t{5} << 38));
}

TEST_CASE("memory is aligned to 64 bytes, large blocks to 2 MiB, and does not overlap") {
  CachingAllocator allocator(host_memory(), no_limit);
  std::vector<std::pair<void*, std::int64_t>> blocks;
  for (const std::int64_t bytes : {0L, 1L, 64L, 65L, 1000L, 70'000L, 2L << 20, 5'000'000L}) {
    void* data = allocator.allocate(bytes);
    std::memset(data, static_cast<int>(blocks.size()), static_cast<std::size_t>(bytes));
    CHECK(reinterpret_cast<std::uintptr_t>(data) % (bytes >= 2 << 20 ? 2 << 20 : 64) == 0);
    blocks.emplace_back(data, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (std::int64_t j = 0; j < blocks[i].second; j += 61)
      REQUIRE(static_cast<char*>(blocks[i].first)[j] == static_cast<char>(i));
  for (const auto& [data, bytes] : blocks) allocator.free(data, bytes);
}

TEST_CASE("a program run again takes no memory from the system and no page faults") {
  CachingAllocator allocator(host_memory(), no_limit);
  const auto run = [&] {
    std::vector<std::pair<void*, std::int64_t>> live;
    for (const std::int64_t bytes : {100'000L, 8L << 20, 3'000'000L, 5'000L}) {
      live.emplace_back(allocator.allocate(bytes), bytes);
      std::memset(live.back().first, 1, static_cast<std::size_t>(bytes));
    }
    for (const auto& [data, bytes] : live) allocator.free(data, bytes);
  };
  run();
  const AllocatorStats before = allocator.stats();
  const std::int64_t faults = page_faults();
  for (int i = 0; i < 10; ++i) run();
  CHECK(page_faults() - faults < 20);
  CHECK(allocator.stats().system_requests == before.system_requests);
  CHECK(allocator.stats().requests == before.requests + 40);
}

TEST_CASE("a smaller tensor of the same class takes the same block") {
  CachingAllocator allocator(host_memory(), no_limit);
  void* first = allocator.allocate(1000);
  allocator.free(first, 1000);
  CHECK(allocator.allocate(950) == first);
  allocator.free(first, 950);
}

TEST_CASE("statistics tell what is in use, cached, and was most") {
  CachingAllocator allocator(host_memory(), no_limit);
  void* a = allocator.allocate(1024);
  void* b = allocator.allocate(2048);
  allocator.free(a, 1024);
  AllocatorStats stats = allocator.stats();
  CHECK(stats.in_use == 2048);
  CHECK(stats.cached == 1024);
  CHECK(stats.peak == 3072);
  allocator.reset_peak();
  CHECK(allocator.stats().peak == 2048);
  allocator.free(b, 2048);
  allocator.trim();
  stats = allocator.stats();
  CHECK(stats.in_use == 0);
  CHECK(stats.cached == 0);
}

TEST_CASE("idle memory beyond the limit goes back to the system") {
  CachingAllocator allocator(host_memory(), 10'000);
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(allocator.allocate(1024));
  void* large = allocator.allocate(100'000);
  allocator.free(large, 100'000);
  CHECK(allocator.stats().cached == 0);
  for (void* block : blocks) allocator.free(block, 1024);
  CHECK(allocator.stats().cached <= 10'000);
  CHECK(allocator.stats().cached >= 8'000);
}

TEST_CASE("when the system has no memory, idle blocks are given back and the request tried again") {
  const int code = sinter::testing::in_child([] {
    CachingAllocator allocator(host_memory(), no_limit);
    constexpr std::int64_t large = 512 << 20;
    allocator.free(allocator.allocate(large), large);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    // Room for one such block beside what is mapped already, not for two.
    std::int64_t mapped = 0;
    std::sscanf(sinter::testing::read_text("/proc/self/statm").c_str(), "%ld", &mapped);
    const rlim_t limit = static_cast<rlim_t>(mapped * 4096 + large / 2);
    const rlimit address_space{limit, limit};
    setrlimit(RLIMIT_AS, &address_space);
    void* other = allocator.allocate(large / 4 * 5);
    if (other == nullptr || allocator.stats().cached != 0) return 1;
    try {
      allocator.allocate(large * 2);
    } catch (const sinter::DeviceError& error) {
      const std::string expected =
          "cpu: out of memory: 1073741824 bytes requested, 671088640 in use, 0 cached";
      if (std::string(error.what()).find(expected) != 0) return 2;
      allocator.free(allocator.allocate(1000), 1000);  // the next small request works
      return 0;
    }
    return 3;
  });
#ifdef __SANITIZE_ADDRESS__
  SINTER_SKIP("the address sanitizer needs the address space that this test takes away");
#endif
  CHECK(code == 0);
}

TEST_CASE("more than all memory of the machine is refused when it is asked for") {
  std::ifstream file("/proc/sys/vm/overcommit_memory");
  int policy = 0;
  if (file >> policy && policy == 1) return;  // the system is told to refuse nothing
  CachingAllocator allocator(host_memory(), no_limit);
  CHECK_THROWS_WITH(allocator.allocate(std::int64_t{1} << 45), ContainsSubstring("out of memory"));
}

TEST_CASE("a failed request changes nothing") {
  CachingAllocator allocator(host_memory(), no_limit);
  void* live = allocator.allocate(1024);
  allocator.free(allocator.allocate(4096), 4096);
  const AllocatorStats before = allocator.stats();
  allocator.fail_request(2);
  allocator.free(allocator.allocate(64), 64);
  CHECK_THROWS_AS(allocator.allocate(4096), sinter::DeviceError);
  CHECK(allocator.stats().in_use == before.in_use);
  allocator.free(allocator.allocate(4096), 4096);
  CHECK_THROWS_WITH(allocator.allocate(no_limit * 7), ContainsSubstring("out of memory"));
  CHECK_THROWS_AS(allocator.allocate(-1), sinter::DeviceError);
  allocator.free(live, 1024);
}

TEST_CASE("the allocator serves many threads") {
  CachingAllocator allocator(host_memory(), 1 << 20);
  std::atomic<int> spoiled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<char*, std::int64_t>> live;
      for (int i = 0; i < 2000; ++i) {
        if (live.size() < 10) {
          const std::int64_t bytes = random() % 50'000;
          auto* data = static_cast<char*>(allocator.allocate(bytes));
          if (bytes > 0) data[0] = data[bytes - 1] = static_cast<char>(t);
          live.emplace_back(data, bytes);
        } else {
          const auto [data, bytes] = live[random() % live.size()];
          std::erase(live, std::pair(data, bytes));
          if (bytes > 0)
            spoiled += data[0] != static_cast<char>(t) || data[bytes - 1] != static_cast<char>(t);
          allocator.free(data, bytes);
        }
      }
      for (const auto& [data, bytes] : live) allocator.free(data, bytes);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(spoiled == 0);
  CHECK(allocator.stats().in_use == 0);
}

TEST_CASE("a buffer goes back to the allocator with its last owner") {
  const std::int64_t before = host_allocator().stats().in_use;
  auto buffer = Buffer::allocate(1000);
  const auto second = buffer;
  CHECK(buffer->bytes() == 1000);
  CHECK_FALSE(buffer->is_foreign());
  CHECK(host_allocator().stats().in_use == before + 1024);
  std::byte* data = buffer->data();
  buffer.reset();
  CHECK(host_allocator().stats().in_use == before + 1024);
  CHECK(second->data() == data);
}

TEST_CASE("a buffer of zero bytes has an address and can be freed") {
  CHECK(Buffer::allocate(0)->data() != nullptr);
}

TEST_CASE("foreign memory is used in place and its deleter called once") {
  int calls = 0;
  int value = 7;
  {
    const auto buffer = Buffer::foreign(&value, sizeof(value), [&](void* data) { calls += data == &value; });
    const auto second = buffer;
    CHECK(buffer->data() == reinterpret_cast<std::byte*>(&value));
    CHECK(buffer->is_foreign());
  }
  CHECK(calls == 1);
  Buffer::foreign(&value, sizeof(value), nullptr);
}
