#include "samples/bench/clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t fewest = 3, most = 1000;

/// The value below which that part of the sorted values lies.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

double milliseconds_of(const std::function<void()>& run) {
  const Clock::time_point begin = Clock::now();
  run();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Timing measure(double seconds, const std::function<void()>& before, const std::function<void()>& timed) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  before();
  timed();
  std::vector<double> times;
  while (times.size() < fewest || (times.size() < most && Clock::now() < end)) {
    before();
    times.push_back(milliseconds_of(timed));
  }
  return summarize(std::move(times));
}

Timing summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {quantile(times, 0.5), quantile(times, 0.1), quantile(times, 0.9), static_cast<int>(times.size())};
}

}  // namespace bench
