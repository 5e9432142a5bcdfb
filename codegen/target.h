// What a program is generated for: the host's processor, or one NVIDIA architecture.
#pragma once

#include <cstdint>
#include <string>

namespace sinter::codegen {

enum class Backend : std::uint8_t { cpu, cuda };

struct Target {
  Backend backend = Backend::cpu;
  std::string arch;  // "sm_90a"; empty on the CPU
  static Target cpu() { return {}; }
  static Target cuda(std::string arch) { return {Backend::cuda, std::move(arch)}; }
  friend bool operator==(const Target&, const Target&) = default;
};

}  // namespace sinter::codegen
