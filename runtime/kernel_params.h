// The block of parameters that a kernel is called with.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "codegen/source.h"

namespace sinter::runtime {

/// The kernel's block with its lengths and literals in place, and zeros where addresses and the phase go. All
/// lengths are numbers.
std::vector<std::byte> constant_params(const codegen::KernelSource& source);

template <class T>
void put_param(std::vector<std::byte>& block, int offset, T value) {
  std::memcpy(block.data() + offset, &value, sizeof(T));
}

}  // namespace sinter::runtime
