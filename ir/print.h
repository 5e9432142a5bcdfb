// The text form of a graph, for people, files and tests:
//
//     graph @gelu(%x: f32[M, 4096], %w: bf16[4096]) where M % 8 == 0 {
//       %0 = mul(%x, %x)
//       %1 = mul(%0, 0.044715)
//       %2 = sum(%1, axes=[1], keepdims=true)
//       return %2, scaled=%1
//     }
//
// One line per node in the graph's order; constants stand where they are used, with their dtype where the
// dtype of the other operands would not give it: f64(0.1), bf16(nan:0x7fc1). Names that are not plain words
// are in quotes; the second input of one name is %x~2. parse() gives back the same graph, with the inputs
// first.
#pragma once

#include <string>

#include "ir/graph.h"

namespace sinter::ir {

std::string print(const Graph& graph);

/// The attributes as they stand in a node's line: "axes=[1], keepdims=true"; empty where there are none.
std::string print_attributes(const Graph& graph, Value node);

}  // namespace sinter::ir
