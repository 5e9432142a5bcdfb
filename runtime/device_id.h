// Devices by what they are and their number.
#pragma once

#include <string>

#include "codegen/target.h"

namespace sinter::runtime {

struct DeviceId {
  codegen::Backend backend = codegen::Backend::cpu;
  int ordinal = 0;  // among the GPUs that the process sees

  static constexpr DeviceId cpu() { return {}; }
  static constexpr DeviceId cuda(int ordinal = 0) { return {codegen::Backend::cuda, ordinal}; }
  bool is_cpu() const { return backend == codegen::Backend::cpu; }
  /// "cpu", "cuda" for the first GPU, "cuda:1" for the next.
  std::string name() const {
    if (is_cpu()) return "cpu";
    return ordinal == 0 ? "cuda" : "cuda:" + std::to_string(ordinal);
  }
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

}  // namespace sinter::runtime
