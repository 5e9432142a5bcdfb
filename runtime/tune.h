// Choosing among schedules by timing them: what SINTER_AUTOTUNE=1 does on a GPU.
//
// A program is built with the choices that are known. Where some are not, its first run that is not captured
// runs step by step: each step's kernel is timed under every candidate, on the memory of that run, which a
// step only reads or writes anew; then the program is put together from the fastest. Kernels that move so
// little that their launch takes longer, and those that share launches, keep the schedule they have.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernel_cache.h"
#include "runtime/program_impl.h"

namespace sinter::runtime {

/// What is chosen among, for one program.
struct Program::Impl::Tuning {
  std::vector<std::vector<codegen::Schedule>> candidates;  // per kernel
  std::vector<std::string> keys;                           // per kernel; empty where there is one candidate
};

/// The candidates of a program's kernels, its own first, on a GPU of that name.
Program::Impl::Tuning tuning_of(const Program::Impl& program, const std::string& gpu,
                                const Toolchain& toolchain);

/// The program's kernels, each under the candidate of that number, or under its last one.
std::vector<codegen::KernelSource> printed(const Program::Impl& program, const Program::Impl::Tuning& tuning,
                                           std::span<const int> numbers);

/// Times what the book does not know, and puts the program together from the fastest; null where nothing can
/// be timed now. Throws DeviceError where the program itself cannot run.
std::unique_ptr<Program::Impl::Tuned> tune(const Program::Impl& program, const Program::Impl::Tuning& tuning,
                                           Device& device, Executable::Inputs inputs, KernelCache& cache,
                                           ChoiceBook& book);

}  // namespace sinter::runtime
