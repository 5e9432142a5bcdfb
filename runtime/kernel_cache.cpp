#include "runtime/kernel_cache.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>

#include "ir/base/check.h"
#include "ir/base/log.h"
#include "runtime/thread_pool.h"
#ifdef SINTER_CUDA
#include "runtime/cuda/cuda_toolchain.h"
#endif

namespace sinter::runtime {
namespace {

std::unique_ptr<const Toolchain> make_cuda_toolchain() {
#ifdef SINTER_CUDA
  return std::make_unique<const CudaToolchain>(nvrtc());
#else
  fail<DeviceError>(
      "this build of sinter has no CUDA backend, so it cannot compile CUDA kernels; build it where a CUDA "
      "toolkit is");
#endif
}

}  // namespace

const HostToolchain& KernelCache::host_toolchain() {
  std::call_once(host_found_, [this] { host_ = std::make_unique<const HostToolchain>(disk_); });
  return *host_;
}

const Toolchain& KernelCache::toolchain(codegen::Backend backend) {
  if (backend == codegen::Backend::cpu) return host_toolchain();
  std::call_once(cuda_found_, [this] {
    if (!cuda_) cuda_ = make_cuda_toolchain();
  });
  return *cuda_;
}

bool KernelCache::can_compile() {
  if (compiler().usable()) return true;
  warn_once("no compiler", "{}, so programs are evaluated op by op, slowly: {}", compiler().fault(),
            compiler().reason());
  return false;
}

std::shared_ptr<const LoadedKernel> KernelCache::get_or_compile(const KernelSpec& spec) {
  const std::string key = fmt::format("{}\n{}\n{}", spec.target.arch, spec.entry, spec.key);
  std::promise<std::shared_ptr<const LoadedKernel>> promise;
  {
    std::unique_lock lock(mutex_);
    const auto [place, is_new] = kernels_.try_emplace(key);
    if (!is_new) {
      ++counters_.memory_hits;
      const Shared found = place->second;
      lock.unlock();
      return found.get();
    }
    place->second = promise.get_future().share();
  }
  try {
    auto kernel = load_or_compile(spec);
    promise.set_value(kernel);
    return kernel;
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      kernels_.erase(key);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

std::shared_ptr<const LoadedKernel> KernelCache::load_or_compile(const KernelSpec& spec) {
  log(Topic::source, "{}", spec.source);
  const Toolchain& toolchain = this->toolchain(spec.target.backend);
  const bool on_cpu = spec.target.backend == codegen::Backend::cpu;
  const std::string key = fmt::format("{} kernel {}\nsinter {}\n{}\n{}", on_cpu ? "cpu" : spec.target.arch,
                                      spec.entry, SINTER_VERSION, toolchain.identity(spec.target), spec.key);
  if (const auto object = toolchain.usable() ? disk_.load(key) : std::nullopt) {
    try {
      auto kernel = toolchain.load(spec, *object);
      const std::lock_guard lock(mutex_);
      ++counters_.disk_hits;
      return kernel;
    } catch (const CompileError& error) {  // whole, and yet of no use: made again, once
      log(Topic::cache, "the entry of kernel {} is dropped: {}", spec.name, error.what());
      disk_.drop(key);
    }
  }
  const std::string object = compile(toolchain, spec);
  auto kernel = toolchain.load(spec, object);
  disk_.store(key, object);
  return kernel;
}

std::string KernelCache::compile(const Toolchain& toolchain, const KernelSpec& spec) {
  if (!toolchain.usable()) return toolchain.compile(spec);  // which says why not
  const auto start = std::chrono::steady_clock::now();
  const auto count = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    log(Topic::timing, "kernel {} compiled in {:.3f} s", spec.name, spent.count());
    const std::lock_guard lock(mutex_);
    ++counters_.compilations;
    counters_.compile_seconds += spent.count();
  };
  try {
    std::string object = toolchain.compile(spec);
    count();
    return object;
  } catch (const CompileError&) {
    count();
    throw;
  }
}

std::vector<std::shared_ptr<const LoadedKernel>> KernelCache::get_or_compile(
    std::span<const KernelSpec> specs) {
  std::vector<std::shared_ptr<const LoadedKernel>> kernels(specs.size());
  std::vector<std::exception_ptr> errors(specs.size());
  parallel_for(0, static_cast<std::int64_t>(specs.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) try {
        kernels[i] = get_or_compile(specs[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return kernels;
}

KernelCacheCounters KernelCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void KernelCache::forget() {
  const std::lock_guard lock(mutex_);
  kernels_.clear();
}

KernelCache& kernel_cache() {
  // Never destroyed: kernels may be called by threads and static objects that outlive main().
  static KernelCache& cache = *new KernelCache(disk_cache_options());
  return cache;
}

}  // namespace sinter::runtime
