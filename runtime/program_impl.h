// What a Program consists of; shared by its building, running and explaining.
#pragma once

#include <atomic>
#include <mutex>

#include "codegen/lower.h"
#include "codegen/source.h"
#include "runtime/executable.h"
#include "runtime/program.h"

namespace sinter::runtime {

struct Program::Impl {
  ir::Graph captured, optimized;
  ProgramOptions options;
  std::vector<std::optional<ir::View>> views;  // of the optimised graph's values
  std::vector<passes::MathForm> forms;         // of them; none on the CPU
  passes::Partition partition;
  std::vector<codegen::Kernel> kernels;        // of the groups, in the order in which they run
  std::vector<codegen::KernelSource> sources;  // of the kernels
  std::vector<std::vector<int>> kernels_of;    // per group; none for products
  std::vector<std::vector<int>> launches;      // of groups, in the order in which they run; more than
                                               // one: a launch of the kernel of each
  std::vector<std::vector<std::int64_t>> input_shapes;  // where lengths have values
  const char* range = "";                               // its name for profilers
  std::unique_ptr<Executable> executable;               // none while lengths have no values

  /// What groups store is memory of its own, a movement too.
  void store_outputs();
  codegen::Kernel lower(const passes::Group& group) const;
  /// Cuts groups that would leave processors idle.
  void cut_groups();
  /// Kernels and sources of the partition's groups.
  void generate();
  /// Which of them share launches; those get the text that serves for it (runtime/join_program.cpp).
  void join();
  /// The launch that the group runs in.
  const std::vector<int>& launch_of(std::size_t group) const;

  mutable std::mutex compiling;
  mutable std::atomic<bool> compiled = false;
  mutable std::vector<std::shared_ptr<const LoadedKernel>> compiled_kernels;
};

}  // namespace sinter::runtime
