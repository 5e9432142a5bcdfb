// Host arrays in and out of a runtime::Program, for tests that compare what it computes.
#pragma once

#include <span>
#include <vector>

#include "ir/array.h"
#include "runtime/program.h"

namespace sinter::testing {

/// A contiguous copy of the array in a buffer of the CPU.
runtime::TensorView view_of(const ir::Array& array);
/// The elements of a view on the CPU, whatever its strides.
ir::Array array_of(const runtime::TensorView& view);

/// Builds the graph's program and runs it once on contiguous inputs.
std::vector<ir::Array> run_program(ir::Graph graph, std::span<const ir::Array> inputs,
                                   runtime::ProgramOptions options = {});

}  // namespace sinter::testing
