// Products that the library does not take, written in other operations.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

/// Where the library has no products of whole numbers: sum over k of a[i, k] b[k, j], which is fused into one
/// kernel that stores no products. It wraps as a product does, since both are exact modulo 2^bits. Real-only
/// rules play no part, so it holds in every mode.
ir::Graph lower_products(const ir::Graph& graph, const PassContext& context);

}  // namespace sinter::passes
