#include "runtime/tune.h"

#include <algorithm>
#include <mutex>

#include "codegen/candidates.h"
#include "ir/base/check.h"
#include "ir/base/log.h"
#include "ir/base/settings.h"
#include "runtime/thread_pool.h"

namespace sinter::runtime {
namespace {

using Tuning = Program::Impl::Tuning;
using Tuned = Program::Impl::Tuned;

constexpr double budget_seconds = 0.05;        // of a kernel
constexpr std::int64_t least_bytes = 1 << 20;  // a kernel that moves less takes as long as its launch

/// Everything that a choice depends on.
std::string key_of(const codegen::Kernel& kernel, const codegen::KernelSource& source,
                   const std::vector<codegen::Schedule>& candidates, const std::string& gpu,
                   const std::string& toolchain) {
  std::string key = fmt::format("choice for {} on {}\nsinter {}\n{}\n{}", kernel.name, gpu, SINTER_VERSION,
                                toolchain, kernel.str());
  for (const codegen::KernelBuffer& b : kernel.buffers)
    key += fmt::format("{} aligned to {}, {} parts\n", name(b.dtype), b.alignment, b.parts.str());
  for (const codegen::Schedule& s : candidates) key += codegen::identity(s) + "\n";
  return key + source.text;
}

/// The kernels of one candidate number, ready to run.
struct Contest {
  std::vector<codegen::KernelSource> sources;
  std::unique_ptr<Executable> executable;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels;  // null: cannot be had
};

/// Compiles on all cores, and leaves out what does not compile.
void compile(const Program::Impl& p, KernelCache& cache, std::vector<Contest>& contests) {
  const std::size_t n = p.sources.size();
  std::vector<std::vector<KernelSpec>> specs;
  for (Contest& c : contests) {
    c.kernels.resize(n);
    specs.push_back(p.specs_of(c.sources));
  }
  const auto all = static_cast<std::int64_t>(contests.size() * n);
  parallel_for(0, all, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) try {
        Contest& c = contests[i / n];
        c.kernels[i % n] = cache.get_or_compile(specs[i / n][i % n]);
      } catch (const Error& error) {
        log(Topic::timing, "candidate {} is left out: {}", i / n, error.what());
      }
  });
}

/// Times one step under all candidates of its kernel.
Choice time_step(int kernel, const std::vector<Contest>& contests,
                 const std::vector<codegen::Schedule>& candidates, Device& device, Stopwatch& stopwatch,
                 const Executable::LaunchStep& launch) {
  const auto k = static_cast<std::size_t>(kernel);
  std::vector<std::function<void()>> runs(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Contest& c = contests[i];
    if (!c.kernels[k]) continue;
    try {
      c.executable->check_kernel(device, kernel, *c.kernels[k]);
      runs[i] = [&c, &launch] { launch(*c.executable, c.kernels); };
    } catch (const DeviceError& error) {
      log(Topic::timing, "candidate {} is left out: {}", i, error.what());
    }
  }
  std::vector<double> milliseconds;
  const Choice choice = fastest(stopwatch, runs, budget_seconds, &milliseconds);
  const std::string& name = contests[0].sources[k].name;
  for (std::size_t i = 0; i < milliseconds.size(); ++i)
    if (milliseconds[i] > 0)
      log(Topic::timing, "kernel {}: {:.4g} ms by {}", name, milliseconds[i],
          codegen::identity(candidates[i]));
  log(Topic::timing, "kernel {}: {}", name, choice.str());
  return choice;
}

}  // namespace

Tuning tuning_of(const Program::Impl& p, const std::string& gpu, const Toolchain& toolchain) {
  const codegen::DeviceDescription& device = codegen::describe(p.options.target);
  const std::string compiler = toolchain.identity(p.options.target);
  Tuning tuning;
  for (std::size_t i = 0; i < p.kernels.size(); ++i) {
    const codegen::Kernel& k = p.kernels[i];
    const ir::Dim bytes = k.bytes(false) + k.bytes(true);
    const bool small = !bytes.is_constant() || bytes.value() < least_bytes;
    tuning.candidates.push_back(small ? std::vector{p.sources[i].schedule}
                                      : codegen::candidates(k, p.sources[i].schedule, device));
    const bool one = tuning.candidates.back().size() == 1;
    tuning.keys.push_back(one ? "" : key_of(k, p.sources[i], tuning.candidates.back(), gpu, compiler));
  }
  return tuning;
}

std::vector<codegen::KernelSource> printed(const Program::Impl& p, const Tuning& tuning,
                                           std::span<const int> numbers) {
  std::vector<codegen::KernelSource> sources;
  for (std::size_t i = 0; i < p.kernels.size(); ++i) {
    const std::vector<codegen::Schedule>& among = tuning.candidates[i];
    const codegen::Schedule& s = among[std::min(static_cast<std::size_t>(numbers[i]), among.size() - 1)];
    sources.push_back(s == p.sources[i].schedule ? p.sources[i]
                                                 : codegen::emit(p.kernels[i], s, p.options.target));
  }
  return sources;
}

std::unique_ptr<Tuned> tune(const Program::Impl& p, const Tuning& tuning, Device& device,
                            Executable::Inputs inputs, KernelCache& cache, ChoiceBook& book) {
  static std::mutex& one_at_a_time = *new std::mutex;  // what runs beside would be measured, too
  const std::lock_guard lock(one_at_a_time);
  const std::unique_ptr<Stopwatch> stopwatch = device.stopwatch();
  if (!stopwatch) return nullptr;
  const std::size_t n = p.kernels.size();
  auto tuned = std::make_unique<Tuned>();
  tuned->choices.resize(n);
  std::size_t most = 1;
  for (std::size_t k = 0; k < n; ++k) {
    if (tuning.keys[k].empty()) continue;
    tuned->choices[k] = book.find(tuning.keys[k], static_cast<int>(tuning.candidates[k].size()));
    if (!tuned->choices[k]) most = std::max(most, tuning.candidates[k].size());
  }
  std::vector<Contest> contests(most);
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<int> numbers;  // what is known is run so, that it need not be compiled again
    for (std::size_t k = 0; k < n; ++k)
      numbers.push_back(tuned->choices[k] ? tuned->choices[k]->candidate : static_cast<int>(i));
    contests[i].sources = printed(p, tuning, numbers);
    contests[i].executable = p.executable_of(contests[i].sources);
  }
  if (most > 1) {
    compile(p, cache, contests);
    contests[0].kernels = cache.get_or_compile(p.specs_of(contests[0].sources));  // throws where it cannot
    contests[0].executable->check(device, contests[0].kernels);
    contests[0].executable->visit(device, inputs, [&](int kernel, const Executable::LaunchStep& launch) {
      const auto k = static_cast<std::size_t>(kernel);
      if (kernel >= 0 && !tuning.keys[k].empty() && !tuned->choices[k]) {
        const int candidates = static_cast<int>(tuning.candidates[k].size());
        // Another kernel of the program may have been the same.
        tuned->choices[k] = book.find(tuning.keys[k], candidates);
        if (!tuned->choices[k]) {
          tuned->choices[k] = time_step(kernel, contests, tuning.candidates[k], device, *stopwatch, launch);
          book.keep(tuning.keys[k], *tuned->choices[k]);
        }
      }
      launch(*contests[0].executable, contests[0].kernels);  // later steps read its results
    });
  }
  std::vector<int> numbers;
  for (const std::optional<Choice>& choice : tuned->choices)
    numbers.push_back(choice ? choice->candidate : 0);
  tuned->sources = printed(p, tuning, numbers);
  tuned->executable = p.executable_of(tuned->sources);
  tuned->kernels = cache.get_or_compile(p.specs_of(tuned->sources));
  tuned->executable->check(device, tuned->kernels);
  return tuned;
}

Program::Impl::Impl() = default;
Program::Impl::~Impl() = default;

void Program::Impl::start_tuning() {
  const CudaState& cuda = cuda_state();
  const auto gpu = static_cast<std::size_t>(options.ordinal);
  if (!settings().autotune || options.target.backend == codegen::Backend::cpu ||
      !optimized.symbols().empty() || gpu >= cuda.gpus.size() || !cuda.gpus[gpu].fault.empty())
    return;
  const Toolchain& toolchain = kernel_cache().toolchain(codegen::Backend::cuda);
  if (toolchain.usable()) use_choices(cuda.gpus[gpu].name, toolchain, choice_book());
}

void Program::Impl::use_choices(const std::string& gpu, const Toolchain& toolchain, ChoiceBook& book) {
  tuning = std::make_unique<Tuning>(tuning_of(*this, gpu, toolchain));
  std::vector<int> numbers;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const bool one = tuning->keys[k].empty();
    choices.push_back(one ? std::nullopt
                          : book.find(tuning->keys[k], static_cast<int>(tuning->candidates[k].size())));
    to_tune = to_tune || (!one && !choices[k]);
    numbers.push_back(choices[k] ? choices[k]->candidate : 0);
  }
  sources = printed(*this, *tuning, numbers);
}

void Program::Impl::tune_once(Device& device, Executable::Inputs inputs) const {
  const std::lock_guard lock(compiling);
  if (!to_tune) return;
  tuned_kernels = tune(*this, *tuning, device, inputs, kernel_cache(), choice_book());
  if (!tuned_kernels) return;
  tuned.store(tuned_kernels.get(), std::memory_order_release);
  to_tune.store(false, std::memory_order_release);
}

std::optional<Choice> Program::Impl::choice_of(std::size_t kernel) const {
  const Tuned* const chosen = tuned.load(std::memory_order_acquire);
  const std::vector<std::optional<Choice>>& made = chosen ? chosen->choices : choices;
  return made.empty() ? std::nullopt : made[kernel];
}

}  // namespace sinter::runtime
