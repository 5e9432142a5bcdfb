#include "runtime/device.h"

#include <charconv>

#include "ir/base/check.h"
#include "ir/base/log.h"
#include "ir/base/settings.h"
#include "runtime/stream_scope.h"
#ifdef SINTER_CUDA
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/probe.h"
#include "runtime/cuda/stream_scope.h"
#endif

namespace sinter::runtime {
namespace {

#ifndef SINTER_CUDA
CudaState no_backend() {
  CudaState state;
  state.reason = "this build of sinter has no CUDA backend";
  state.hint = "build sinter with a CUDA toolkit from 12.8 on";
  return state;
}
#endif

}  // namespace

const CudaState& cuda_state() {
#ifdef SINTER_CUDA
  return cuda::state();
#else
  static const CudaState state = no_backend();
  return state;
#endif
}

Device& device(DeviceId id) {
  if (id.is_cpu()) return cpu_device();
#ifdef SINTER_CUDA
  return cuda::device(id.ordinal);
#else
  fail<DeviceError>(
      "device {}: {}; use Device(\"cpu\"), or lower() a function for Target(\"sm_90a\") to see its CUDA "
      "source",
      id.name(), cuda_state().reason);
#endif
}

Device& default_device() {
  const std::string& wanted = settings().device;
  if (wanted != "auto") return device(parse_device(wanted));
  const CudaState& cuda = cuda_state();
  if (cuda.usable()) return device(DeviceId::cuda());
  if (settings().require_gpu)
    fail<DeviceError>("no GPU can be used, and SINTER_REQUIRE_GPU asks for one: {}; {}", cuda.reason,
                      cuda.hint);
  static const bool said = (log(Topic::device, "programs run on the cpu: {}", cuda.reason), true);
  static_cast<void>(said);
  return cpu_device();
}

DeviceId parse_device(std::string_view name) {
  if (name == "cpu") return DeviceId::cpu();
  if (name == "cuda") return DeviceId::cuda();
  if (constexpr std::string_view prefix = "cuda:"; name.starts_with(prefix)) {
    const char* const end = name.data() + name.size();
    int ordinal = -1;
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, ordinal);
    if (error == std::errc{} && rest == end && ordinal >= 0) return DeviceId::cuda(ordinal);
  }
  fail<DeviceError>(
      "there is no device \"{}\"; devices are \"cpu\", \"cuda\" and \"cuda:1\", by the GPU's number", name);
}

std::unique_ptr<StreamScope> enter_stream(DeviceId id, [[maybe_unused]] void* stream) {
  if (id.is_cpu())
    fail<DeviceError>(
        "a stream is given for the cpu, which has none; name the GPU that the stream belongs to");
#ifdef SINTER_CUDA
  return cuda::enter_stream(id.ordinal, stream);
#else
  device(id);
  return nullptr;
#endif
}

void synchronize_all() {
#ifdef SINTER_CUDA
  cuda::synchronize_all();
#endif
}

}  // namespace sinter::runtime
