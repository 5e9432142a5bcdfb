// Whether there is a GPU that programs can run on, and if not, why.
#pragma once

#include <optional>
#include <string>

#include "runtime/device.h"

namespace sinter::runtime::cuda {

/// What the driver says of itself before anything is asked of a GPU.
struct DriverFacts {
  bool library = false;       // libcuda.so.1 loads
  std::string library_error;  // why not
  int version = 0;            // the newest CUDA that it knows, as 13000
  int error = 0;              // of counting the GPUs: a cudaError_t
  std::string error_text;
  int count = 0;
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES
};

/// "13.0", from 13000.
std::string version_text(int version);

/// Sets reason and hint where the facts rule out every GPU of a build for `state.runtime`.
void judge(const DriverFacts& facts, CudaState& state);

/// Why GPUs of a compute capability cannot be used, or nothing.
std::string capability_fault(int capability);

/// The state of this machine. Looks once.
const CudaState& state();

/// The architecture that code for a compute capability (90: 9.0) is generated for: its own, with its suffix
/// where there is one; the newest known one of the same major that is not newer; else "compute_NN", PTX of
/// the newest known one, which the driver compiles.
std::string architecture_for(int capability);

}  // namespace sinter::runtime::cuda
