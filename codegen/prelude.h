// The device prelude: the functions that generated kernels call, as source text in codegen/prelude/. A
// generated kernel includes no header; it starts with the part of the prelude that it needs. The text is the
// same for NVRTC, the host's compiler and the CUDA simulator but for one layer of primitives, which the files
// host*.inc and cuda*.inc each define.
//
// A definition is a paragraph of a file, with no blank line inside. What it defines and what it needs are
// found by reading its names, so to add a function is to write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/target.h"

namespace sinter::codegen {

/// The prelude for a kernel of the given text: `namespace sinter { ... }` with every definition whose name
/// occurs in the text, all overloads of it, and what those need in turn, each defined before its use. For
/// CUDA the primitives come with their twins of the host under #ifdef __CUDACC__, so that the text also
/// compiles without CUDA.
std::string prelude(std::string_view kernel, Backend backend);

/// The names of all that the prelude defines for a backend, in order.
std::vector<std::string_view> prelude_names(Backend backend);

}  // namespace sinter::codegen
