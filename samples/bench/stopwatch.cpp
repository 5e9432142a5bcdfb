#include "samples/bench/stopwatch.h"

#include <sinter/error.h>

#include "samples/bench/machine.h"
#include "samples/bench/memory.h"
#include "samples/bench/team.h"

namespace bench {
namespace {

class CpuStopwatch final : public Stopwatch {
 public:
  Timing measure(double seconds, const std::function<void()>& before,
                 const std::function<void()>& timed) override {
    const auto cold = [&] {
      before();
      memory_.flush();
    };
    return bench::measure(seconds, cold, timed);
  }
  double copy_bandwidth(double seconds) override { return memory_.copy_bandwidth(seconds); }
  std::string method() const override {
    return "before every repetition the caches are filled with other data, and all threads copy";
  }

 private:
  Team team_{thread_count()};
  Memory memory_{team_};
};

}  // namespace

std::unique_ptr<Stopwatch> cpu_stopwatch() {
  return std::make_unique<CpuStopwatch>();
}

#ifndef SINTER_TOOL_CUDA
std::unique_ptr<Stopwatch> gpu_stopwatch(const sinter::Device&) {
  throw sinter::DeviceError("this tool was built without CUDA; build sinter where a CUDA toolkit is");
}
#endif

std::unique_ptr<Stopwatch> stopwatch_of(const sinter::Device& device) {
  return device.is_gpu() ? gpu_stopwatch(device) : cpu_stopwatch();
}

}  // namespace bench
