// How runs are timed on a device: with its last-level cache kept cold, beside its own copy bandwidth.
#pragma once

#include <sinter/device.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "samples/bench/clock.h"

namespace bench {

class Stopwatch {
 public:
  virtual ~Stopwatch() = default;

  /// Times `timed` again and again for about `seconds`, at least three times, after a run that is not
  /// counted. Before each repetition `before` is called and other data go through the caches; neither counts.
  virtual Timing measure(double seconds, const std::function<void()>& before,
                         const std::function<void()>& timed) = 0;

  /// GB/s, read plus written, of a large copy. Takes about `seconds`.
  virtual double copy_bandwidth(double seconds) = 0;

  /// How all this is done, for the head of a table.
  virtual std::string method() const = 0;
};

/// By the clock of the CPU; all its threads copy.
std::unique_ptr<Stopwatch> cpu_stopwatch();

/// By CUDA events on a stream of its own, on which this thread's programs run as long as it lives. Throws
/// sinter::DeviceError where the tool was built without CUDA.
std::unique_ptr<Stopwatch> gpu_stopwatch(const sinter::Device& device);

std::unique_ptr<Stopwatch> stopwatch_of(const sinter::Device& device);

}  // namespace bench
