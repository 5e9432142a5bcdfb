// Host arrays in and out of a runtime::Program, for tests that compare what it computes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/array.h"
#include "runtime/program.h"

namespace sinter::testing {

/// A contiguous copy of the array in a buffer of the runner's device.
runtime::TensorView view_of(const ir::Array& array);
/// The elements of a view on any device, whatever its strides.
ir::Array array_of(const runtime::TensorView& view);

/// What run_program builds for, where inputs are, and how it runs that: on the default device, so that the
/// same tests try whatever is there.
struct ProgramRunner {
  codegen::Target target = codegen::Target::cpu();
  std::function<std::vector<runtime::TensorView>(const runtime::Program&,
                                                 std::span<const runtime::TensorView>)>
      run;
  runtime::Device* device = &runtime::cpu_device();  // of the inputs
};
ProgramRunner& program_runner();

using MakeProgramRunner = ProgramRunner (*)();
/// Makes the runner, at its first use. tests/cuda_on_cpu puts its simulator here before main begins.
extern MakeProgramRunner make_program_runner;

/// Has run_program run on this device as long as it lives.
class RunsOn {
 public:
  explicit RunsOn(runtime::Device& device) : before_(program_runner()) {
    program_runner().target = device.target();
    program_runner().device = &device;
  }
  ~RunsOn() { program_runner() = before_; }
  RunsOn(const RunsOn&) = delete;
  RunsOn& operator=(const RunsOn&) = delete;

 private:
  ProgramRunner before_;
};

/// The options of a program for the runner's target.
runtime::ProgramOptions program_options(Numerics numerics = Numerics::standard);

/// Builds the graph's program, for the runner's target, and runs it once on inputs in the options' layouts.
std::vector<runtime::TensorView> run_program_on_views(ir::Graph graph,
                                                      std::span<const runtime::TensorView> inputs,
                                                      runtime::ProgramOptions options = {});
/// The same on contiguous inputs.
std::vector<ir::Array> run_program(ir::Graph graph, std::span<const ir::Array> inputs,
                                   runtime::ProgramOptions options = {});

}  // namespace sinter::testing
