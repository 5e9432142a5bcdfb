#include "runtime/cuda/probe.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "codegen/device.h"
#include "ir/base/check.h"
#include "runtime/cuda/fork.h"
#include "runtime/cuda/nvrtc.h"

namespace sinter::runtime::cuda {
namespace {

constexpr int oldest_capability = 75;

DriverFacts look_at_driver() {
  DriverFacts facts;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) facts.visible = visible;
  // The driver stays loaded: it cannot be unloaded once it has been started.
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const text = dlerror();
    facts.library_error = text ? text : "";
    return facts;
  }
  facts.library = true;
  if (auto* get_version = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDriverGetVersion")))
    get_version(&facts.version);
  if (facts.version / 1000 < CUDART_VERSION / 1000) return facts;
  note_use();
  const cudaError_t error = cudaGetDeviceCount(&facts.count);
  facts.error = error;
  facts.error_text = error == cudaSuccess ? "" : cudaGetErrorString(error);
  cudaGetLastError();
  return facts;
}

/// Starts the GPU, which shows whether it answers.
std::string start(int ordinal) {
  int before = 0;
  cudaGetDevice(&before);
  cudaError_t error = cudaSetDevice(ordinal);
  if (error == cudaSuccess) error = cudaFree(nullptr);
  cudaSetDevice(before);
  cudaGetLastError();
  return error == cudaSuccess ? "" : fmt::format("it does not start: {}", cudaGetErrorString(error));
}

Gpu look_at_gpu(int ordinal) {
  Gpu gpu;
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, ordinal); error != cudaSuccess) {
    cudaGetLastError();
    gpu.fault = fmt::format("it does not answer: {}", cudaGetErrorString(error));
    return gpu;
  }
  gpu.name = properties.name;
  gpu.capability = properties.major * 10 + properties.minor;
  gpu.memory = static_cast<std::int64_t>(properties.totalGlobalMem);
  gpu.fault = capability_fault(gpu.capability);
  if (gpu.fault.empty() && ordinal == 0) gpu.fault = start(ordinal);  // the one that is used unasked
  return gpu;
}

CudaState look() {
  CudaState state;
  state.runtime = CUDART_VERSION;
  const DriverFacts facts = look_at_driver();
  judge(facts, state);
  if (!state.usable()) return state;
  // Most programs will want the compiler, too, and starting the GPU takes longer.
  int major = 0, minor = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
  const std::jthread compiler = start_nvrtc(architecture_for(major * 10 + minor));
  for (int i = 0; i < facts.count; ++i) state.gpus.push_back(look_at_gpu(i));
  if (const Gpu& first = state.gpus.front(); !first.fault.empty()) {
    state.reason = fmt::format("GPU 0 ({}) cannot be used: {}", first.name, first.fault);
    state.hint = "use another one, by CUDA_VISIBLE_DEVICES or Device(\"cuda:1\"), or Device(\"cpu\")";
  }
  return state;
}

}  // namespace

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void judge(const DriverFacts& facts, CudaState& state) {
  state.driver = facts.version;
  state.driver_is_missing = !facts.library;
  if (!facts.library) {
    state.reason = fmt::format("the driver's libcuda.so.1 does not load{}{}",
                               facts.library_error.empty() ? "" : ": ", facts.library_error);
    state.hint = "install NVIDIA's driver if there is a GPU";
  } else if (facts.version <= 0) {
    state.reason = "the driver does not say which CUDA it is for";
    state.hint = "install NVIDIA's driver again";
  } else if (facts.version / 1000 < state.runtime / 1000) {
    state.reason = fmt::format("the driver is too old: it knows CUDA up to {}, and this build needs {}.0",
                               version_text(facts.version), state.runtime / 1000);
    state.hint = fmt::format("install a driver for CUDA {} or newer, or build sinter with CUDA {}",
                             version_text(state.runtime), version_text(facts.version));
  } else if (facts.error == cudaErrorNoDevice || (facts.error == 0 && facts.count == 0)) {
    state.reason =
        facts.visible ? fmt::format("the driver shows no GPU: CUDA_VISIBLE_DEVICES is \"{}\"", *facts.visible)
                      : "the driver finds no GPU";
    state.hint = facts.visible
                     ? "unset CUDA_VISIBLE_DEVICES, or name a GPU that is there"
                     : "see whether nvidia-smi lists one, and whether this process may open /dev/nvidia*";
  } else if (facts.error != 0) {
    state.reason = fmt::format("the driver (for CUDA {}) does not start: error {}, {}",
                               version_text(facts.version), facts.error, facts.error_text);
    state.hint = "see whether nvidia-smi works; a driver that was updated may need a restart";
  }
}

std::string capability_fault(int capability) {
  if (capability >= oldest_capability) return {};
  return fmt::format("its compute capability is {}.{}, and sinter needs {}.{}", capability / 10,
                     capability % 10, oldest_capability / 10, oldest_capability % 10);
}

const CudaState& state() {
  static const CudaState& found = *new CudaState(look());
  return found;
}

std::string architecture_for(int capability) {
  const std::vector<std::string> known = codegen::known_architectures();
  const std::string own = fmt::format("sm_{}", capability);
  for (const std::string& name : {own + "a", own})
    if (std::ranges::find(known, name) != known.end()) return name;
  std::string best;
  int best_number = 0;
  for (const std::string& name : known) {
    int number = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + 3, end, number);
    if (error != std::errc{} || rest != end) continue;  // one with a suffix runs on nothing else
    if (number <= capability && number > best_number) {
      best_number = number;
      best = name;
    }
  }
  // Machine code serves the later GPUs of its major alone.
  if (best_number / 10 != capability / 10 && best_number > 0) best = fmt::format("compute_{}", best_number);
  return best;
}

}  // namespace sinter::runtime::cuda
