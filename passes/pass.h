// What a pass is: a function from a graph to an equivalent one.
#pragma once

#include "ir/graph.h"
#include "sinter/numerics.h"

namespace sinter::passes {

struct PassContext {
  Numerics numerics = Numerics::standard;
};

using Pass = ir::Graph (*)(const ir::Graph&, const PassContext&);

}  // namespace sinter::passes
