// Devices: their memory, the order of work on them, and what to generate code for.
//
// There is one object per device, made when it is first used and never destroyed, since tensors may live as
// long as the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/target.h"
#include "runtime/device_id.h"
#include "runtime/stopwatch.h"
#include "runtime/stream.h"

namespace sinter::runtime {

class CachingAllocator;
class LoadedKernel;
struct KernelLaunch;
struct MatmulLaunch;

class Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  const DeviceId& id() const { return id_; }
  bool is_cpu() const { return id_.is_cpu(); }
  const codegen::Target& target() const { return target_; }
  std::string name() const { return id_.name(); }
  /// The maker's name for it.
  virtual std::string description() const = 0;

  virtual CachingAllocator& allocator() = 0;
  /// The stream on which this thread's work runs; null on the CPU.
  virtual const std::shared_ptr<Stream>& stream() = 0;
  /// Waits for all work of every stream, and throws what went wrong in it.
  virtual void synchronize() = 0;

  // Copies in the order of this thread's stream. Those that touch memory of the host have run on return, as
  // far as that memory goes.
  virtual void copy_from_host(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, std::int64_t bytes) = 0;
  /// From another device that is not the CPU, whose memory has been filled.
  virtual void copy_from_peer(void* to, Device& peer, const void* from, std::int64_t bytes) = 0;
  /// `count` elements of `size` bytes that are all `bits`.
  virtual void fill(void* to, std::uint64_t bits, int size, std::int64_t count) = 0;

  // Launches in the order of this thread's stream.
  /// Throws DeviceError, before the driver would, where the kernel does not fit the device.
  virtual void check_kernel(const KernelLaunch& launch, const LoadedKernel& kernel) = 0;
  /// `params` is overwritten where the kernel asks for the phase.
  virtual void run_kernel(const KernelLaunch& launch, const LoadedKernel& kernel,
                          std::span<std::byte> params) = 0;
  virtual void run_matmul(const MatmulLaunch& launch) = 0;

  /// For timing launches; null where they cannot be timed: on the CPU, and while the thread's stream is
  /// captured, when nothing runs.
  virtual std::unique_ptr<Stopwatch> stopwatch() { return nullptr; }

  // Names for what runs in between, as profilers show it.
  virtual void begin_range(const char*) {}
  virtual void end_range() {}

  /// Throws DeviceError unless programs on this device can read memory at this address.
  virtual void check_reach(const void* address) = 0;

 protected:
  Device(DeviceId id, codegen::Target target) : id_(id), target_(std::move(target)) {}

 private:
  const DeviceId id_;
  const codegen::Target target_;
};

Device& cpu_device();

/// The device; throws DeviceError, saying what is missing, for one that cannot be used.
Device& device(DeviceId id);

/// Where tensors are made unless told otherwise: what SINTER_DEVICE names; on "auto" the first GPU if it can
/// be used, else the CPU, which is an error under SINTER_REQUIRE_GPU.
Device& default_device();

/// The device called "cpu", "cuda" or "cuda:1"; throws DeviceError for any other name.
DeviceId parse_device(std::string_view name);

/// Waits for all devices that have been used.
void synchronize_all();

struct Gpu {
  std::string name;
  int capability = 0;  // 90: compute capability 9.0
  std::int64_t memory = 0;
  std::string fault;  // why it cannot be used, or nothing
};

/// What there is of CUDA on this machine, found out once, when first asked.
struct CudaState {
  std::string reason;              // why no GPU can be used; empty if one can
  std::string hint;                // what to do about it
  int driver = 0;                  // the newest CUDA that the driver knows, as 13000; 0 without one
  int runtime = 0;                 // the CUDA that this build was made with; 0 without the CUDA backend
  bool driver_is_missing = false;  // there is no libcuda
  std::vector<Gpu> gpus;

  bool usable() const { return reason.empty(); }
};

const CudaState& cuda_state();

}  // namespace sinter::runtime
