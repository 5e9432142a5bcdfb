#include "runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using sinter::testing::ScopedEnvironment;

TEST_CASE("a parallel loop covers its range once, with boundaries at multiples of the grain") {
  const auto [begin, end, grain] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>({{0, 0, 1},
                                                                                             {5, 3, 1},
                                                                                             {0, 1, 1},
                                                                                             {0, 1000, 1},
                                                                                             {7, 1007, 16},
                                                                                             {-50, 50, 7},
                                                                                             {0, 100, 1000},
                                                                                             {3, 103, 100}}));
  const ScopedEnvironment environment{{"SINTER_THREADS", "4"}};
  std::vector<std::atomic<int>> visits(2000);
  std::atomic<int> uneven{0};
  parallel_for(begin, end, grain,
               [&, begin = begin, end = end, grain = grain](std::int64_t b, std::int64_t e) {
                 uneven += (b - begin) % grain != 0 || (e != end && (e - begin) % grain != 0) || b >= e;
                 for (std::int64_t i = b; i < e; ++i) ++visits[static_cast<std::size_t>(i - begin)];
               });
  CHECK(uneven == 0);
  for (std::size_t i = 0; i < visits.size(); ++i)
    REQUIRE(visits[i] == (static_cast<std::int64_t>(i) < end - begin ? 1 : 0));
}

TEST_CASE("a range of one grain runs on the calling thread, at once") {
  const auto self = std::this_thread::get_id();
  int calls = 0;
  parallel_for(0, 8, 8, [&](std::int64_t, std::int64_t) { calls += std::this_thread::get_id() == self; });
  CHECK(calls == 1);
}

TEST_CASE("SINTER_THREADS bounds the threads at work") {
  const int threads = GENERATE(1, 2, 3);
  const ScopedEnvironment environment{{"SINTER_THREADS", std::to_string(threads)}};
  CHECK(thread_count() == threads);
  std::atomic<int> running{0}, most{0};
  parallel_for(0, 40, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --running;
    }
  });
  CHECK(most <= threads);
}

TEST_CASE("loops nest, and each thread's scratch memory is its own") {
  const ScopedEnvironment environment{{"SINTER_THREADS", "4"}};
  std::atomic<int> spoiled{0};
  parallel_for(0, 16, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Scratch outer(1000);
      std::memset(outer.data(), static_cast<int>(i), 1000);
      parallel_for(0, 64, 1, [&](std::int64_t b, std::int64_t e) {
        const Scratch inner(500 + 100 * static_cast<std::size_t>(b));
        std::memset(inner.data(), 0xee, 500 + 100 * static_cast<std::size_t>(b));
        volatile std::int64_t work = 0;
        for (std::int64_t k = 0; k < 1000 * (e - b); ++k) work = work + k;
      });
      const char* bytes = outer.as<char>();
      spoiled += std::any_of(bytes, bytes + 1000, [&](char c) { return c != static_cast<char>(i); });
    }
  });
  CHECK(spoiled == 0);
}

TEST_CASE("an exception in a loop comes out of it, and the pool goes on") {
  const ScopedEnvironment environment{{"SINTER_THREADS", "4"}};
  for (int attempt = 0; attempt < 20; ++attempt)
    CHECK_THROWS_WITH(parallel_for(0, 1000, 1,
                                   [](std::int64_t begin, std::int64_t end) {
                                     if (begin <= 500 && 500 < end) throw std::runtime_error("stop at 500");
                                   }),
                      "stop at 500");
  std::atomic<std::int64_t> sum{0};
  parallel_for(0, 1000, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  CHECK(sum == 1000);
}

TEST_CASE("many threads of the user's run loops at once") {
  const ScopedEnvironment environment{{"SINTER_THREADS", "4"}};
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        parallel_for(0, 100, 10, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(sum == 8 * 100 * 100);
}

TEST_CASE("scratch memory is aligned, grows, and is used again") {
  std::thread([] {  // a thread without a history
    const void* first = nullptr;
    {
      const Scratch a(100'000);
      first = a.data();
      const Scratch b(100), none(0);
      CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
      CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
      CHECK(a.data() != b.data());
      CHECK(none.data() == nullptr);
    }
    const Scratch small(50), again(90'000);
    CHECK(again.data() == first);
  })
      .join();
}
