// A program's kernels for CUDA on the simulator, launch after launch, as an Executable runs them.
#pragma once

#include <span>
#include <vector>

#include "codegen/source.h"
#include "runtime/program.h"

namespace sinter::testing::cuda_on_cpu {

/// Runs a program that was built for CUDA. Inputs lie in memory as the program's layouts say; they are copied
/// to addresses that no more than the promised alignment divides. Products run on the CPU. Results are
/// contiguous or views, as Program::run returns them. Throws KernelFault, CompileError.
std::vector<runtime::TensorView> run_program(const runtime::Program& program,
                                             std::span<const runtime::TensorView> inputs);
/// The same with other texts of the program's kernels.
std::vector<runtime::TensorView> run_with(const runtime::Program& program,
                                          std::span<const codegen::KernelSource> sources,
                                          std::span<const runtime::TensorView> inputs);

}  // namespace sinter::testing::cuda_on_cpu
