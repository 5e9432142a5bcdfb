#include "runtime/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ir/base/check.h"
#include "ir/base/log.h"
#include "runtime/cuda/fill.h"
#include "runtime/cuda/fork.h"
#include "runtime/cuda/probe.h"
#include "runtime/cuda/stream_scope.h"

namespace sinter::runtime::cuda {
namespace {

/// Errors of work that ran on the GPU: its context is of no use any more.
bool is_fatal(cudaError_t error) {
  static constexpr std::array fatal{cudaErrorIllegalAddress,
                                    cudaErrorLaunchTimeout,
                                    cudaErrorContextIsDestroyed,
                                    cudaErrorAssert,
                                    cudaErrorHardwareStackError,
                                    cudaErrorIllegalInstruction,
                                    cudaErrorMisalignedAddress,
                                    cudaErrorInvalidAddressSpace,
                                    cudaErrorInvalidPc,
                                    cudaErrorLaunchFailure,
                                    cudaErrorECCUncorrectable,
                                    cudaErrorNvlinkUncorrectable,
                                    cudaErrorMpsClientTerminated,
                                    cudaErrorExternalDevice,
                                    cudaErrorUnknown};
  return std::ranges::find(fatal, error) != fatal.end();
}

/// The devices made so far.
struct Devices {
  std::mutex mutex;
  std::vector<std::unique_ptr<CudaDevice>> by_ordinal;
  std::array<std::atomic<CudaDevice*>, 64> known{};
};

Devices& devices() {
  static Devices& all = *new Devices;
  return all;
}

}  // namespace

CudaDevice::CudaDevice(int ordinal, const Gpu& gpu)
    : Device(DeviceId::cuda(ordinal), codegen::Target::cuda(architecture_for(gpu.capability))),
      gpu_(gpu),
      memory_(*this),
      events_(*this),
      allocator_(memory_, gpu.memory),
      default_cuda_stream_(std::make_shared<CudaStream>(*this, cudaStreamLegacy, 0)),
      default_stream_(default_cuda_stream_) {
  default_cuda_stream_->open();  // for good
}

CudaDevice& device(int ordinal) {
  Devices& all = devices();
  if (ordinal >= 0 && ordinal < static_cast<int>(all.known.size()))
    if (CudaDevice* made = all.known[static_cast<std::size_t>(ordinal)].load(std::memory_order_acquire))
      return *made;
  const CudaState& cuda = state();
  if (cuda.gpus.empty())
    sinter::fail<DeviceError>("device {}: no GPU can be used: {}; {}", DeviceId::cuda(ordinal).name(),
                              cuda.reason, cuda.hint);
  const int count = std::min(static_cast<int>(cuda.gpus.size()), static_cast<int>(all.known.size()));
  if (ordinal < 0 || ordinal >= count)
    sinter::fail<DeviceError>("device {}: there is no GPU of that number; there {} {}, counted from 0",
                              DeviceId::cuda(ordinal).name(), count == 1 ? "is" : "are", count);
  const Gpu& gpu = cuda.gpus[static_cast<std::size_t>(ordinal)];
  if (!gpu.fault.empty())
    sinter::fail<DeviceError>("device {}: {} cannot be used: {}", DeviceId::cuda(ordinal).name(), gpu.name,
                              gpu.fault);
  const std::lock_guard lock(all.mutex);
  std::atomic<CudaDevice*>& place = all.known[static_cast<std::size_t>(ordinal)];
  if (place.load() == nullptr) {
    all.by_ordinal.push_back(std::make_unique<CudaDevice>(ordinal, gpu));
    CudaDevice& made = *all.by_ordinal.back();
    log(Topic::device, "{} is {}, compute capability {}.{}, {} MiB, code for {}", made.name(), gpu.name,
        gpu.capability / 10, gpu.capability % 10, gpu.memory >> 20, made.target().arch);
    place.store(&made, std::memory_order_release);
  }
  return *place.load();
}

void synchronize_all() {
  for (std::atomic<CudaDevice*>& place : devices().known)
    if (CudaDevice* made = place.load(std::memory_order_acquire)) made->synchronize();
}

DeviceScope::DeviceScope(CudaDevice& device) {
  device.require_alive();
  int current = -1;
  cudaGetDevice(&current);
  if (current == device.ordinal()) return;
  device.check(cudaSetDevice(device.ordinal()), "making it the current device");
  before_ = current;
}

void CudaDevice::require_alive() const {
  if (is_forked())
    sinter::fail<DeviceError>(
        "{}: this process was made by fork() after CUDA had been used, and CUDA does not work in such a "
        "child; "
        "fork before sinter or anything else uses CUDA, or start the child by exec",
        name());
  if (!lost_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(lost_mutex_);
  sinter::fail<DeviceError>("{} is lost to this process: {}", name(), lost_because_);
}

void CudaDevice::fail(cudaError_t error, const char* doing) {
  cudaGetLastError();
  const std::string text = fmt::format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
  if (!is_fatal(error)) sinter::fail<DeviceError>("{}: {} failed: {}", name(), doing, text);
  const std::lock_guard lock(lost_mutex_);
  if (!lost_) {
    const char* const kernel = last_kernel_.load();
    lost_because_ = kernel ? fmt::format(
                                 "kernel {} or work started before it failed: {}, noticed when {}; run with "
                                 "CUDA_LAUNCH_BLOCKING=1 to be told which",
                                 kernel, text, doing)
                           : fmt::format("work on it failed: {}, noticed when {}", text, doing);
    lost_ = true;
  }
  sinter::fail<DeviceError>("{}: {}; the device is of no more use to this process", name(), lost_because_);
}

void CudaDevice::check_work(cudaError_t error, const char* doing) {
  if (is_fatal(error)) fail(error, doing);
}

const std::shared_ptr<Stream>& CudaDevice::stream() {
  const std::shared_ptr<Stream>* const chosen = chosen_stream(*this);
  return chosen ? *chosen : default_stream_;
}

std::shared_ptr<CudaStream> CudaDevice::stream_of(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return default_cuda_stream_;
  const DeviceScope scope(*this);
  unsigned long long id = 0;
  int on = ordinal();
  check(cudaStreamGetId(handle, &id), "looking at a stream");
  check(cudaStreamGetDevice(handle, &on), "looking at a stream");
  if (on != ordinal())
    sinter::fail<DeviceError>("a stream of {} is given for {}; each stream belongs to one device",
                              DeviceId::cuda(on).name(), name());
  const std::lock_guard lock(streams_mutex_);
  std::erase_if(streams_, [](const auto& entry) { return entry.second.expired(); });
  if (std::shared_ptr<CudaStream> known = streams_[id].lock()) return known;
  auto made = std::make_shared<CudaStream>(*this, handle, id);
  streams_[id] = made;
  return made;
}

void CudaDevice::synchronize() {
  const DeviceScope scope(*this);
  check(cudaDeviceSynchronize(), "waiting for the device");
}

void CudaDevice::copy_from_host(void* to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  const DeviceScope scope(*this);
  const cudaStream_t on = stream_handle();
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, on),
        "copying from the host");
  check(cudaStreamSynchronize(on), "copying from the host");
}

void CudaDevice::copy_to_host(void* to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  const DeviceScope scope(*this);
  const cudaStream_t on = stream_handle();
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, on),
        "copying to the host");
  check(cudaStreamSynchronize(on), "copying to the host");
}

void CudaDevice::copy_from_peer(void* to, Device& peer, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  peer.synchronize();
  const DeviceScope scope(*this);
  const cudaStream_t on = stream_handle();
  check(cudaMemcpyPeerAsync(to, ordinal(), from, peer.id().ordinal, static_cast<std::size_t>(bytes), on),
        "copying from another device");
  check(cudaStreamSynchronize(on), "copying from another device");
}

void CudaDevice::fill(void* to, std::uint64_t bits, int size, std::int64_t count) {
  if (count == 0) return;
  const DeviceScope scope(*this);
  fill_memory(*this, to, bits, size, count);
}

void CudaDevice::check_reach(const void* address) {
  const DeviceScope scope(*this);
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "looking at an address");
  if (attributes.type == cudaMemoryTypeUnregistered)
    sinter::fail<DeviceError>(
        "{}: the address {} is memory of the host, which the GPU does not reach; say Device(\"cpu\"), and "
        "move "
        "the tensor with to()",
        name(), fmt::ptr(address));
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != ordinal())
    sinter::fail<DeviceError>("{}: the address {} is memory of {}", name(), fmt::ptr(address),
                              DeviceId::cuda(attributes.device).name());
}

void* CudaDevice::Memory::take(std::int64_t bytes) {
  const DeviceScope scope(device_);
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, static_cast<std::size_t>(bytes));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  device_.check(error, "allocating memory");
  return data;
}

void CudaDevice::Memory::give_back(void* data, std::int64_t) noexcept {
  try {
    const DeviceScope scope(device_);
    cudaFree(data);
    cudaGetLastError();
  } catch (const DeviceError&) {  // with the device its memory is gone
  }
}

std::string CudaDevice::Memory::state() const {
  const DeviceScope scope(device_);
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  return fmt::format(", {} of {} free on the device", free, total);
}

}  // namespace sinter::runtime::cuda
