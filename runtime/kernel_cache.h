// Compiled CPU kernels by what they were made from: in memory, on disk, else by the compiler, each at most
// once.
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
#include "runtime/host_compiler.h"
#include "runtime/kernel_loader.h"

namespace sinter::runtime {

struct KernelSpec {
  std::string name;    // for messages only
  std::string key;     // the source without its header comment: two specs of one key and entry are one kernel
  std::string source;  // what is compiled
  std::string entry;   // the function with C linkage to call
};

/// A kernel that can be called; its code stays loaded as long as the object lives.
class HostKernel {
 public:
  using Entry = KernelEntry;

  HostKernel(std::shared_ptr<LoadedObject> object, const std::string& entry);

  Entry entry() const { return entry_; }

 private:
  std::shared_ptr<LoadedObject> object_;
  Entry entry_;
};

struct KernelCacheCounters {
  std::int64_t compilations = 0;  // runs of the compiler, those that failed too
  std::int64_t memory_hits = 0, disk_hits = 0;
  double compile_seconds = 0;  // spent in the compiler, summed over threads
};

class KernelCache {
 public:
  explicit KernelCache(DiskCacheOptions options) : disk_(std::move(options)) {}

  /// Whether there is a compiler; without one, warns once and leaves the work to the evaluator.
  bool can_compile();

  /// The kernel of that key, compiled if need be. Threads that ask for one kernel at the same time wait for
  /// one compilation, and all get its error, a CompileError, if it fails; the next call then tries again.
  std::shared_ptr<const HostKernel> get_or_compile(const KernelSpec& spec);

  /// The same for many, on all cores. Throws the first error in the order of `specs`, after all have been
  /// tried.
  std::vector<std::shared_ptr<const HostKernel>> get_or_compile(std::span<const KernelSpec> specs);

  KernelCacheCounters counters() const;
  DiskCache& disk() { return disk_; }
  const HostCompiler& compiler();

  /// Forgets the kernels in memory; those in use stay loaded.
  void forget();

 private:
  using Shared = std::shared_future<std::shared_ptr<const HostKernel>>;

  std::shared_ptr<const HostKernel> load_or_compile(const KernelSpec& spec);
  std::string compile(const KernelSpec& spec);

  DiskCache disk_;
  std::once_flag compiler_found_;
  std::unique_ptr<const HostCompiler> compiler_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Shared> kernels_;
  KernelCacheCounters counters_;
};

/// The process's own, set up by the environment at its first use.
KernelCache& kernel_cache();

}  // namespace sinter::runtime
