#include <cstring>

#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/host_toolchain.h"
#include "runtime/steps.h"
#include "runtime/thread_pool.h"

namespace sinter::runtime {
namespace {

class Cpu final : public Device {
 public:
  Cpu() : Device(DeviceId::cpu(), codegen::Target::cpu()) {}

  std::string description() const override { return "the host's processor"; }
  CachingAllocator& allocator() override { return host_allocator(); }
  const std::shared_ptr<Stream>& stream() override { return none_; }
  void synchronize() override {}
  void copy_from_host(void* to, const void* from, std::int64_t bytes) override { copy(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::int64_t bytes) override { copy(to, from, bytes); }
  void copy_from_peer(void* to, Device& peer, const void* from, std::int64_t bytes) override {
    peer.copy_to_host(to, from, bytes);
  }
  void fill(void* to, std::uint64_t bits, int size, std::int64_t count) override {
    auto* at = static_cast<std::byte*>(to);
    for (std::int64_t i = 0; i < count; ++i, at += size)
      std::memcpy(at, &bits, static_cast<std::size_t>(size));
  }
  void check_reach(const void*) override {}

  void check_kernel(const KernelLaunch&, const LoadedKernel&) override {}
  void run_kernel(const KernelLaunch& launch, const LoadedKernel& kernel,
                  std::span<std::byte> params) override {
    const KernelEntry entry = host_entry(kernel);
    const Scratch shared(launch.shared_scratch ? launch.scratch_bytes : 0);
    for (std::int64_t phase = 0; phase < launch.phases; ++phase) {
      if (launch.phase_offset >= 0) std::memcpy(params.data() + launch.phase_offset, &phase, sizeof phase);
      parallel_for(0, launch.units, launch.grain, [&](std::int64_t begin, std::int64_t end) {
        const Scratch own(launch.shared_scratch ? 0 : launch.scratch_bytes);
        entry(params.data(), begin, end, launch.shared_scratch ? shared.data() : own.data());
      });
    }
  }
  void run_matmul(const MatmulLaunch& launch) override {
    matmul(launch.dtype, launch.shape, launch.a, launch.b, launch.c);
  }

 private:
  static void copy(void* to, const void* from, std::int64_t bytes) {
    if (bytes != 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  const std::shared_ptr<Stream> none_;
};

}  // namespace

Device& cpu_device() {
  static Cpu& cpu = *new Cpu;
  return cpu;
}

}  // namespace sinter::runtime
