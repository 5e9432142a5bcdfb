// CUDA kernels: NVRTC makes them, the CUDA runtime loads them.
#pragma once

#include "runtime/cuda/nvrtc.h"
#include "runtime/toolchain.h"

namespace sinter::runtime {

class CudaToolchain final : public Toolchain {
 public:
  explicit CudaToolchain(const Nvrtc& compiler) : compiler_(compiler) {}

  bool usable() const override { return compiler_.usable(); }
  const std::string& reason() const override { return compiler_.reason(); }
  std::string identity(const codegen::Target& target) const override;
  std::string compile(const KernelSpec& spec) const override;
  std::shared_ptr<const LoadedKernel> load(const KernelSpec& spec, std::string_view object) const override;

 private:
  const Nvrtc& compiler_;
};

}  // namespace sinter::runtime
