// Host arrays in and out of a runtime::Program, for tests that compare what it computes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/array.h"
#include "runtime/program.h"

namespace sinter::testing {

/// A contiguous copy of the array in a buffer of the CPU.
runtime::TensorView view_of(const ir::Array& array);
/// The elements of a view on the CPU, whatever its strides.
ir::Array array_of(const runtime::TensorView& view);

/// What run_program builds for, and how it runs that. tests/cuda_on_cpu puts its simulator here.
struct ProgramRunner {
  codegen::Target target = codegen::Target::cpu();
  std::function<std::vector<runtime::TensorView>(const runtime::Program&,
                                                 std::span<const runtime::TensorView>)>
      run;
};
ProgramRunner& program_runner();

/// Builds the graph's program, for the runner's target, and runs it once on inputs in the options' layouts.
std::vector<runtime::TensorView> run_program_on_views(ir::Graph graph,
                                                      std::span<const runtime::TensorView> inputs,
                                                      runtime::ProgramOptions options = {});
/// The same on contiguous inputs.
std::vector<ir::Array> run_program(ir::Graph graph, std::span<const ir::Array> inputs,
                                   runtime::ProgramOptions options = {});

}  // namespace sinter::testing
