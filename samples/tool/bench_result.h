// What was measured of a workload, and its presentation.
#pragma once

#include <sinter/device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "samples/bench/clock.h"

namespace tool {

struct BenchResult {
  std::string name, device;
  std::vector<std::string> inputs;  // "x: f32[4096, 4096]"
  bench::Timing fused;
  std::optional<bench::Timing> eager, by_hand;
  double bytes = 0;                          // that must move: inputs once, outputs once
  double flops = 0;                          // of its matrix products
  double copy_gbps = 0;                      // copy bandwidth just before
  std::optional<double> first_call_ms;       // in a fresh process with an empty kernel cache
  std::optional<double> first_call_warm_ms;  // in a fresh process that finds the kernels on disk
  int eager_launches = 0, fused_launches = 0;

  double gbps() const { return bytes / fused.median / 1e6; }
  double percent_of_copy() const { return 100 * gbps() / copy_gbps; }
  double tflops() const { return flops / fused.median / 1e9; }
};

std::string bench_table(const std::vector<BenchResult>& results);
std::string bench_json(const std::vector<BenchResult>& results);
/// The same in one line.
std::string bench_json_line(const std::vector<BenchResult>& results);
/// The table with the machine it was measured on, as docs/benchmarks/ keeps it.
std::string bench_markdown(const std::vector<BenchResult>& results, const std::string& command,
                           const sinter::Device& device, const std::string& method);

}  // namespace tool
