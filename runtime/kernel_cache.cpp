#include "runtime/kernel_cache.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>

#include "ir/base/check.h"
#include "ir/base/log.h"
#include "runtime/thread_pool.h"

namespace sinter::runtime {

HostKernel::HostKernel(std::shared_ptr<LoadedObject> object, const std::string& entry)
    : object_(std::move(object)), entry_(reinterpret_cast<Entry>(object_->function(entry))) {}

const HostCompiler& KernelCache::compiler() {
  std::call_once(compiler_found_, [this] { compiler_ = std::make_unique<const HostCompiler>(disk_); });
  return *compiler_;
}

bool KernelCache::can_compile() {
  if (compiler().usable()) return true;
  warn_once("no compiler", "there is no C++ compiler, so programs are evaluated op by op, slowly: {}",
            compiler().reason());
  return false;
}

std::shared_ptr<const HostKernel> KernelCache::get_or_compile(const KernelSpec& spec) {
  const std::string key = fmt::format("{}\n{}", spec.entry, spec.key);
  std::promise<std::shared_ptr<const HostKernel>> promise;
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

std::shared_ptr<const HostKernel> KernelCache::load_or_compile(const KernelSpec& spec) {
  log(Topic::source, "{}", spec.source);
  const std::string key = fmt::format("cpu kernel {}\nsinter {}\n{}\n{}", spec.entry, SINTER_VERSION,
                                      compiler().identity(), spec.key);
  const auto loaded = [&](std::string_view object) {
    return std::make_shared<const HostKernel>(LoadedObject::load(spec.name, object), spec.entry);
  };
  if (const auto object = compiler().usable() ? disk_.load(key) : std::nullopt) {
    try {
      auto kernel = loaded(*object);
      const std::lock_guard lock(mutex_);
      ++counters_.disk_hits;
      return kernel;
    } catch (const CompileError& error) {  // whole, and yet of no use: made again, once
      log(Topic::cache, "the entry of kernel {} is dropped: {}", spec.name, error.what());
      disk_.drop(key);
    }
  }
  const std::string object = compile(spec);
  auto kernel = loaded(object);
  disk_.store(key, object);
  return kernel;
}

std::string KernelCache::compile(const KernelSpec& spec) {
  if (!compiler().usable())
    fail<CompileError>("kernel {}: there is no C++ compiler: {}", spec.name, compiler().reason());
  const auto start = std::chrono::steady_clock::now();
  const auto count = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    log(Topic::timing, "kernel {} compiled in {:.3f} s", spec.name, spent.count());
    const std::lock_guard lock(mutex_);
    ++counters_.compilations;
    counters_.compile_seconds += spent.count();
  };
  try {
    std::string object = compiler().compile(spec.name, spec.source);
    count();
    return object;
  } catch (const CompileError&) {
    count();
    throw;
  }
}

std::vector<std::shared_ptr<const HostKernel>> KernelCache::get_or_compile(
    std::span<const KernelSpec> specs) {
  std::vector<std::shared_ptr<const HostKernel>> kernels(specs.size());
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
