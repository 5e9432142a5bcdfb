// Compiled kernels by what they were made from: in memory, on disk, else by the target's compiler, each at
// most once.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/disk_cache.h"
#include "runtime/host_toolchain.h"
#include "runtime/toolchain.h"

namespace sinter::runtime {

struct KernelCacheCounters {
  std::int64_t compilations = 0;  // runs of a compiler, those that failed too
  std::int64_t memory_hits = 0, disk_hits = 0;
  double compile_seconds = 0;  // spent in compilers, summed over threads
};

class KernelCache {
 public:
  /// `cuda` makes the kernels of CUDA targets; without one, it is NVRTC as soon as one is asked for.
  explicit KernelCache(DiskCacheOptions options, std::unique_ptr<const Toolchain> cuda = nullptr)
      : disk_(std::move(options)), cuda_(std::move(cuda)) {}

  /// Whether there is a C++ compiler; without one, warns once and leaves the work to the evaluator.
  bool can_compile();

  /// The kernel of that key, compiled if need be. Threads that ask for one kernel at the same time wait for
  /// one compilation, and all get its error, a CompileError, if it fails; the next call then tries again.
  /// Throws DeviceError for a CUDA kernel without NVRTC.
  std::shared_ptr<const LoadedKernel> get_or_compile(const KernelSpec& spec);

  /// The same for many, on all cores. Throws the first error in the order of `specs`, after all have been
  /// tried.
  std::vector<std::shared_ptr<const LoadedKernel>> get_or_compile(std::span<const KernelSpec> specs);

  KernelCacheCounters counters() const;
  DiskCache& disk() { return disk_; }
  const HostCompiler& compiler() { return host_toolchain().compiler(); }
  const Toolchain& toolchain(codegen::Backend backend);

  /// Forgets the kernels in memory; those in use stay loaded.
  void forget();

 private:
  using Shared = std::shared_future<std::shared_ptr<const LoadedKernel>>;

  const HostToolchain& host_toolchain();
  std::shared_ptr<const LoadedKernel> load_or_compile(const KernelSpec& spec);
  std::string compile(const Toolchain& toolchain, const KernelSpec& spec);

  DiskCache disk_;
  std::once_flag host_found_, cuda_found_;
  std::unique_ptr<const HostToolchain> host_;
  std::unique_ptr<const Toolchain> cuda_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Shared> kernels_;
  KernelCacheCounters counters_;
};

/// The process's own, set up by the environment at its first use.
KernelCache& kernel_cache();

}  // namespace sinter::runtime
