// Repeated timing within a given time.
#pragma once

#include <functional>
#include <vector>

namespace bench {

/// Milliseconds of the repetitions of one thing.
struct Timing {
  double median = 0;
  double p10 = 0, p90 = 0;  // nine of ten took longer, one of ten took longer
  int repetitions = 0;
};

/// Times `timed` again and again, each time after `before`, whose time does not count: until `seconds` have
/// gone by in all, and at least three times. The first run, which nothing is told of, warms up.
Timing measure(double seconds, const std::function<void()>& before, const std::function<void()>& timed);

/// The same of times that were measured otherwise: at least one.
Timing summarize(std::vector<double> milliseconds);

/// Milliseconds that one run takes.
double milliseconds_of(const std::function<void()>& run);

}  // namespace bench
