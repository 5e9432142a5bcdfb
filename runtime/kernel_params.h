// The block of parameters that a kernel is called with.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "codegen/source.h"
#include "runtime/steps.h"

namespace sinter::runtime {

/// The kernel's block with its lengths and literals in place, and zeros where addresses and the phase go. All
/// lengths are numbers.
std::vector<std::byte> constant_params(const codegen::KernelSource& source);

/// The block of a launch of several instances: theirs, with what depends on the run left out, and the blocks
/// that they begin at. Each place holds for the source of that number at `number * param_bytes`. All have one
/// text, which takes them.
std::vector<std::byte> batch_params(std::span<const codegen::KernelSource* const> sources);

template <class T>
void put_param(std::span<std::byte> block, int offset, T value) {
  std::memcpy(block.data() + offset, &value, sizeof(T));
}

/// Where in working memory, or among the counters, the kernel's arrays lie, and which parameters say so.
void place_scratch(const codegen::KernelSource& source, KernelLaunch& launch);

/// Puts the addresses of the arrays into the block.
void put_scratch(const KernelLaunch& launch, std::span<std::byte> params, std::byte* working,
                 std::byte* counters);

}  // namespace sinter::runtime
