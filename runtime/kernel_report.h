// What a compiler for CUDA makes of one kernel, as `sinter compile` shows it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/source.h"

namespace sinter::runtime {

/// Accesses of one width to one tensor.
struct TensorAccesses {
  std::string tensor;  // the kernel's parameter: "in0", "out0"; empty where that is not clear
  bool is_store = false;
  int bytes = 0;  // of one access of one thread
  int count = 0;  // in the code; one that a loop repeats counts once
};

struct KernelReport {
  /// Of a cubin; PTX has none of these.
  struct Resources {
    int registers = 0, spill_bytes = 0, stack_bytes = 0;  // per thread
    int shared_bytes = 0;  // per block, of what it declares and what its launch gives it
  };
  std::optional<Resources> resources;
  std::vector<TensorAccesses> accesses;
  /// Of the largest tensors that the kernel reads, and writes: the width of their widest accesses, and of the
  /// narrowest among those. Zero where there are none.
  int load_bytes = 0, store_bytes = 0;
  double compile_ms = 0;
  int compilations = 1;  // 2 where the first would have spilled a few registers
  std::string ptx;
};

/// Compiles kernels for the target of their sources by NVRTC, on all cores and past the cache; equal sources
/// share one compilation and its report. Throws CompileError, DeviceError without NVRTC, and UnsupportedError
/// in a build without the CUDA backend.
std::vector<KernelReport> report_kernels(std::span<const codegen::Kernel> kernels,
                                         std::span<const codegen::KernelSource> sources);

/// "NVRTC 13.0"; empty without the CUDA backend.
std::string cuda_compiler_name();

}  // namespace sinter::runtime
