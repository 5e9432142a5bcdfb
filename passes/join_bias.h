// A bias added to a matrix product, brought into the form that the library takes over.
#pragma once

#include <optional>

#include "ir/view.h"
#include "passes/pass.h"

namespace sinter::passes {

/// The two operands of an addition that a library can do at the end of a product.
struct BiasedProduct {
  ir::Value product;  // a matmul of the sum's shape, of f32, or of f16 or bf16 in rows of whole 16 bytes
  ir::Value bias;     // any value that broadcasts along the rows
};

/// What `sum` adds, if it is such an addition and the product is one of the operands themselves. Whether the
/// product has other uses, and where the bias lies in memory, is for the caller to look at.
std::optional<BiasedProduct> biased_product(const ir::Graph& graph, ir::Value sum);

/// True if the view of a value of that shape is one dense row of that length, repeated.
bool is_row(const ir::Shape& shape, const ir::View& view, const ir::Dim& length);

/// 16-bit products whose bias is added in f32, f32(a b) + f32(bias), become f32(a b + bias) with the sum in
/// 16 bits, where the product has no other use and the bias is an input: the fuser makes one library call of
/// it (passes/fuse_bias.cpp), which adds to what was accumulated in f32 and rounds once. Not in strict mode.
ir::Graph join_bias(const ir::Graph& graph, const PassContext& context);

}  // namespace sinter::passes
