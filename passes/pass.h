// What a pass is: a function from a graph to an equivalent one.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "passes/product_library.h"
#include "sinter/numerics.h"

namespace sinter::passes {

/// Strides of each graph input in elements; empty where all are contiguous.
using InputStrides = std::vector<std::vector<std::int64_t>>;

struct PassContext {
  Numerics numerics = Numerics::standard;
  ProductLibrary library = {};
  InputStrides inputs = {};
  std::string dump_prefix = {};  // of the files that say what each pass made; a new one if it is empty
};

using Pass = ir::Graph (*)(const ir::Graph&, const PassContext&);

}  // namespace sinter::passes
