// Which f32 values end in 16 bits, so that faster or shorter forms are good enough for them.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sinter::passes {

/// By node id: the value is f32 and every use of it is a cast to f16 or bf16, or an op in f32 whose result is
/// such a value itself. An output of the graph is none, nor what a discrete op reads.
std::vector<bool> narrow_values(const ir::Graph& graph);

/// The same of bf16 alone, which keeps 8 bits of a value.
std::vector<bool> bf16_values(const ir::Graph& graph);

}  // namespace sinter::passes
