// What a Program consists of; shared by its building, running and explaining.
#pragma once

#include <atomic>
#include <mutex>

#include "codegen/lower.h"
#include "codegen/source.h"
#include "passes/check_indices.h"
#include "runtime/choice.h"
#include "runtime/executable.h"
#include "runtime/program.h"

namespace sinter::runtime {

struct Program::Impl {
  ir::Graph captured, optimized;
  std::optional<passes::CheckedGraph> checked;  // under SINTER_CHECK: captured with checks of its indices
  ProgramOptions options;
  std::vector<std::optional<ir::View>> views;  // of the optimised graph's values
  std::vector<passes::MathForm> forms;         // of them; none on the CPU
  passes::Partition partition;
  std::vector<codegen::Kernel> kernels;                 // of the groups, in the order in which they run
  std::vector<codegen::KernelSource> sources;           // of the kernels
  std::vector<std::vector<int>> kernels_of;             // per group; none for products
  std::vector<Launch> launches;                         // in the order in which they run
  std::vector<std::vector<std::int64_t>> input_shapes;  // where lengths have values
  const char* range = "";                               // its name for profilers
  std::unique_ptr<Executable> executable;               // none while lengths have no values

  /// What is optimised and run.
  const ir::Graph& to_run() const { return checked ? checked->graph : captured; }
  /// Throws ValueError if one of the program's results is an index out of range, and removes what only says
  /// so.
  void check_indices(Device& device, std::vector<Location>& results) const;
  /// What groups store is memory of its own, a movement too.
  void store_outputs();
  codegen::Kernel lower(const passes::Group& group) const;
  /// Cuts groups that would leave processors idle.
  void cut_groups();
  bool rows_fit() const;
  /// Kernels and sources of the partition's groups.
  void generate();
  /// Which of them share launches; those get the text that serves for it (runtime/join_program.cpp).
  void join();
  /// The launch that the kernel runs in.
  const Launch& launch_of(int kernel) const;
  std::unique_ptr<Executable> executable_of(const std::vector<codegen::KernelSource>& printed) const;
  std::vector<KernelSpec> specs_of(const std::vector<codegen::KernelSource>& printed) const;

  // What SINTER_AUTOTUNE adds (runtime/tune.cpp): kernels that have candidates, and the choices among them.
  struct Tuned {
    std::vector<codegen::KernelSource> sources;
    std::vector<std::optional<Choice>> choices;  // per kernel; none for what was not timed
    std::unique_ptr<Executable> executable;
    std::vector<std::shared_ptr<const LoadedKernel>> kernels;
  };
  struct Tuning;
  std::unique_ptr<Tuning> tuning;              // none where nothing is timed
  std::vector<std::optional<Choice>> choices;  // by which sources are printed: made by earlier programs
  mutable std::unique_ptr<const Tuned> tuned_kernels;
  mutable std::atomic<const Tuned*> tuned = nullptr;  // what runs instead of sources, once it has been timed
  mutable std::atomic<bool> to_tune = false;

  const std::vector<codegen::KernelSource>& running_sources() const {
    const Tuned* const chosen = tuned.load(std::memory_order_acquire);
    return chosen ? chosen->sources : sources;
  }
  /// Finds candidates, and takes what was chosen among them before, if this is to be tuned.
  void start_tuning();
  void use_choices(const std::string& gpu, const Toolchain& toolchain, ChoiceBook& book);
  /// Times candidates on these inputs, unless another thread has, or nothing can be timed now.
  void tune_once(Device& device, Executable::Inputs inputs) const;
  /// What was measured for a kernel, or nothing.
  std::optional<Choice> choice_of(std::size_t kernel) const;

  mutable std::mutex compiling;
  mutable std::atomic<bool> compiled = false;
  mutable std::vector<std::shared_ptr<const LoadedKernel>> compiled_kernels;

  Impl();
  ~Impl();
};

}  // namespace sinter::runtime
