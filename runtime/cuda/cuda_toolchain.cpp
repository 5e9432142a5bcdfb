#include "runtime/cuda/cuda_toolchain.h"

#include <fmt/format.h>

#include "runtime/cuda/cuda_kernel.h"

namespace sinter::runtime {

std::string CudaToolchain::identity(const codegen::Target& target) const {
  return fmt::format("NVRTC {}\n{} for {}", compiler_.version(), compiler_.options(),
                     compiler_.code_for(target.arch));
}

std::string CudaToolchain::compile(const KernelSpec& spec) const {
  return compiler_.compile(spec.name, spec.source, spec.target.arch).image;
}

std::shared_ptr<const LoadedKernel> CudaToolchain::load(const KernelSpec& spec,
                                                        std::string_view object) const {
  return CudaKernel::load(spec.name, spec.entry, object, spec.device);
}

}  // namespace sinter::runtime
