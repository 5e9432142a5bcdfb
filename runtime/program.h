// A captured graph made ready to run on one target: optimised, fused, scheduled, printed, compiled on first
// use.
//
// The public Program and the functions returned by sinter::compile are thin wrappers around this class.
// Everything but run() works without a device, and for graphs with symbolic dims.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "ir/graph.h"
#include "passes/partition.h"
#include "runtime/buffer.h"
#include "runtime/tensor_layout.h"
#include "sinter/numerics.h"

namespace sinter::runtime {

/// A strided view of a buffer. Strides count elements and may be 0 or negative.
struct TensorView : Location {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

/// How an input lies in memory, as far as a program depends on it.
struct InputLayout {
  std::vector<std::int64_t> strides;  // in elements
  int alignment = 64;                 // bytes that divide the address: a power of two, at most 64
  friend bool operator==(const InputLayout&, const InputLayout&) = default;
};

struct ProgramOptions {
  Numerics numerics = Numerics::standard;
  codegen::Target target = codegen::Target::cpu();
  int ordinal = 0;  // of the GPU that it runs on
  /// One per input; empty: all inputs are contiguous and aligned.
  std::vector<InputLayout> layouts;
  std::string dump_prefix;  // of files in the directory of SINTER_DUMP; see new_dump_prefix
};

/// What runs a group of the partition. Products have a name and no schedule.
struct GroupSummary {
  std::string name;
  std::string schedule;
  ir::Dim bytes_read, bytes_written;  // each buffer's elements that are touched, once
};

struct KernelReport;

class Program {
 public:
  /// Runs the passes, fuses, and prints kernels; compiles nothing yet. Throws UnsupportedError where a target
  /// cannot serve the graph.
  static std::shared_ptr<const Program> build(ir::Graph captured, ProgramOptions options);

  /// Runs on inputs of the graph's dtypes and shapes and of the options' layouts. Outputs are new buffers, or
  /// views of new buffers or of inputs where an output is only a movement of one. Safe to call from many
  /// threads.
  std::vector<TensorView> run(std::span<const TensorView> inputs) const;
  /// The same for inputs that are known to be such, by where they are alone; the outputs lie as
  /// output_layouts() says. Not for a program that is_evaluated().
  std::vector<Location> launch(std::span<const Location* const> inputs) const;
  const std::vector<std::shared_ptr<const TensorLayout>>& output_layouts() const;
  /// Whether run() evaluates the captured graph without generated code, for want of a compiler. Products are
  /// then plain sums, not the library's; who wants those runs the operations one by one.
  bool is_evaluated() const;
  /// Compiles all kernels now, on all cores.
  void prepare() const;

  const ir::Graph& captured() const;
  const ir::Graph& optimized() const;
  const passes::Partition& partition() const;  // of optimized()
  /// One per group of the partition.
  std::vector<GroupSummary> summaries() const;
  /// Kernel launches, library calls and copies of one run.
  int launches() const;
  /// Launches of the captured graph with one kernel per operation.
  int eager_launches() const;

  /// Groups, kernels, schedules, launches, bytes, peak memory, and the reason for each boundary; for people.
  std::string explain() const;
  /// The same as JSON, with the keys that docs/tool.md lists.
  std::string explain_json() const;
  /// Generated source of every distinct kernel.
  std::string source() const;
  /// The device that run() takes its inputs on. Throws DeviceError, with the reason, where it cannot be used.
  Device& runs_on() const;

  /// What NVRTC makes of the kernels, which are compiled anew; needs no GPU. All four throw ValueError for a
  /// program that is not for a CUDA target, and what report_kernels() throws.
  std::vector<KernelReport> kernel_reports() const;
  /// Registers, spills, shared memory, widths of loads and stores, milliseconds per kernel; for people.
  std::string compile_report() const;
  /// The JSON of explain_json() with what is known of each kernel once it is compiled.
  std::string compile_json() const;
  /// PTX of every distinct kernel.
  std::string ptx() const;
  ~Program();

  /// What it consists of (runtime/program_impl.h), for tests that run its kernels in other ways.
  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  Program();
  /// `reports` are empty, or one per kernel.
  std::string as_json(const std::vector<KernelReport>& reports) const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sinter::runtime
