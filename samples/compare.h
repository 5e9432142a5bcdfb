// What the samples have in common: a function run plainly and compiled, timed, and compared.
#pragma once

#include <sinter/sinter.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

/// Median time of a call, in milliseconds, after one that does not count.
template <class F>
double median_ms(const F& call, int repetitions = 7) {
  std::vector<double> times;
  for (int i = 0; i <= repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    sinter::synchronize();
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    if (i > 0) times.push_back(elapsed.count());
  }
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return times[static_cast<std::size_t>(repetitions / 2)];
}

/// Runs `function` plainly and compiled on `x`, prints what both took and how far apart the results are, and
/// leaves the graph before and after fusion as NAME-captured.dot and NAME-fused.dot. True if the results
/// agree.
template <class F>
bool compare(const std::string& name, const F& function, const sinter::Tensor& x, double tolerance) {
  const auto fused = sinter::compile(function, {.name = name});

  const auto start = std::chrono::steady_clock::now();
  const sinter::Tensor result = fused(x);
  const std::chrono::duration<double, std::milli> first_call = std::chrono::steady_clock::now() - start;
  const sinter::Tensor expected = function(x);
  const double difference = max(abs(result - expected)).template item<double>();

  const double eager_ms = median_ms([&] { function(x); });
  const double fused_ms = median_ms([&] { fused(x); });
  const sinter::Program program = fused.programs().front();

  std::string shape;
  for (const std::int64_t length : x.shape()) shape += (shape.empty() ? "" : " x ") + std::to_string(length);
  std::printf("%s of %s, %s, on %s\n", name.c_str(), std::string(sinter::name(x.dtype())).c_str(),
              shape.c_str(), x.device().name().c_str());
  std::printf("  plain    %8.3f ms  %3d launches\n", eager_ms, program.eager_launches());
  std::printf("  compiled %8.3f ms  %3d launches  %.1f times as fast; %.0f ms at the first call\n", fused_ms,
              program.launches(), eager_ms / fused_ms, first_call.count());
  std::printf("  largest difference %.3g\n", difference);

  program.write_dot(name + "-captured.dot", sinter::Stage::captured);
  program.write_dot(name + "-fused.dot", sinter::Stage::fused);
  std::printf("  graphs: %s-captured.dot, %s-fused.dot\n", name.c_str(), name.c_str());
  return difference <= tolerance;
}

/// A length from the command line, or `otherwise`.
inline std::int64_t length_argument(int argc, char** argv, int index, std::int64_t otherwise) {
  return index < argc ? std::max<std::int64_t>(1, std::atoll(argv[index])) : otherwise;
}
