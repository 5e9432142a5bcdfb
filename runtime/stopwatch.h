// How long work takes that is started on a device.
#pragma once

#include <functional>

namespace sinter::runtime {

class Stopwatch {
 public:
  virtual ~Stopwatch() = default;

  /// Seconds that the device takes for what `start` puts on this thread's stream, by itself and with other
  /// data in the caches; waits for it. Throws DeviceError.
  virtual double time(const std::function<void()>& start) = 0;
  /// Seconds on a clock of its own, which goes on between measurements.
  virtual double now() = 0;
};

}  // namespace sinter::runtime
