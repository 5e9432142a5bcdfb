// Joins a product with the sum it feeds: add(mul(a, b), c) becomes fma(a, b, c), and so for differences.
//
// A product is contracted only if an add or subtract is its only use and the other operand is not a product,
// so the choice does not depend on the order of operands and x*y - y*x stays 0. Kernels are compiled without
// contraction of their own; what is fused is decided here, once, so that every copy of a recomputed value
// agrees. Not in strict mode, where eager's two roundings hold.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

ir::Graph contract(const ir::Graph& graph, const PassContext& context);

}  // namespace sinter::passes
