// Compiled functions and plain operations called from many threads.
#include <atomic>
#include <latch>
#include <thread>

#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

constexpr int thread_count = 32;

/// Runs `f(thread)` in 32 threads that start together.
template <class F>
void together(const F& f) {
  std::latch start(thread_count);
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      f(i);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("32 threads that call a compiled function for the first time make one program") {
  std::atomic<int> captures = 0, right = 0;
  const auto f = compile([&](Tensor x) {
    ++captures;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return x * 2.0 + 1.0;
  });
  together([&](int i) {
    const Tensor x = full({100}, static_cast<double>(i), f32) + 0.0;
    if (numbers(f(x)) == std::vector<double>(100, 2.0 * i + 1)) ++right;
  });
  CHECK(captures == 1);
  CHECK(right == thread_count);
  CHECK(f.programs().size() == 1);
}

TEST_CASE("an exception in the first call reaches every thread that waits for it") {
  std::atomic<int> captures = 0, thrown = 0;
  const auto f = compile([&](Tensor x) {
    ++captures;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return x + ones({3});
  });
  const Tensor x = floats({1, 2});
  together([&](int) {
    try {
      f(x);
    } catch (const ShapeError&) {
      ++thrown;
    }
  });
  CHECK(thrown == thread_count);
  CHECK(captures < thread_count);
  CHECK(f.programs().empty());
}

TEST_CASE("captures in several threads do not see each other") {
  std::atomic<int> right = 0;
  const Tensor x = floats({1, 2, 3});
  const auto f = compile([](Tensor x, int n) {
    Tensor y = x;
    for (int i = 0; i < n % 4; ++i) y = y + 1.0;
    return y;
  });
  together([&](int i) {
    const bool compiled = numbers(f(x, i)) == numbers(x + static_cast<double>(i % 4));
    if (compiled) ++right;
  });
  CHECK(right == thread_count);
  CHECK(f.programs().size() == thread_count);
}

TEST_CASE("a Var can be read and assigned from several threads") {
  Var cell(full({16}, 0.0, f32));
  const auto f = compile([=](Tensor x) { return x + cell; });
  const Tensor x = zeros({16}) + 0.0;
  std::atomic<int> torn = 0;
  together([&](int i) {
    cell = full({16}, static_cast<double>(i), f32) + 0.0;
    const std::vector<double> y = numbers(f(x));
    for (const double v : y)
      if (v != y[0]) ++torn;
  });
  CHECK(torn == 0);
}
