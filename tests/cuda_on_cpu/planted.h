// Kernels written by hand, most with a fault planted in them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/launch.h"

namespace sinter::testing::cuda_on_cpu {

struct Shape {
  std::int64_t n = 256, blocks = 1;
  int threads = 256;
  int cluster = 1;
  std::int64_t shared_bytes = 0;
  std::string index = "int32";
  int together = 1;
};

/// The launch of a kernel "planted" with this body. It has in0 and out0 of n floats, in0 of 0, 1, 2, ...;
/// `part`, which it may write to and read from, of as many; `counters`, of which there are 16; and t, the
/// thread in the block.
class Planted {
 public:
  Planted(const std::string& body, const Shape& shape);

  const Launch& launch() const { return launch_; }
  float* in() const { return reinterpret_cast<float*>(in_.data()); }
  const float* out() const { return reinterpret_cast<const float*>(out_.data()); }

 private:
  std::shared_ptr<const Kernel> kernel_;
  LonelyMemory in_, out_, part_, counters_;
  std::vector<std::byte> params_;
  Launch launch_;
};

struct Found {
  std::optional<Fault> fault;
  std::string message;
};

Found found_in(const std::string& body, const Shape& shape = {});

/// Checks that this fault was found, and that its message has the text.
void check_fault(const Found& found, Fault fault, const std::string& text);

}  // namespace sinter::testing::cuda_on_cpu
