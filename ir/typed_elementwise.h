// Elementwise operations over arrays in memory with the typed evaluator's meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/op.h"
#include "ir/scalar.h"

namespace sinter::ir {

struct ElementwiseOperand {
  DType dtype;
  const std::byte* data;
  bool scalar;  // one element that stands for all
};

/// n results of an elementwise op other than cast. Exact ops of f32 are computed in float; the others in
/// double, which is then rounded to float and so correctly rounded in all but about one case in 10^8; 16-bit
/// floats are computed as f32 and rounded once more.
void evaluate_elementwise(Op op, std::span<const ElementwiseOperand> operands, DType result, std::byte* out,
                          std::int64_t n);

/// n elements converted as Scalar::cast does.
void evaluate_cast(DType from, const std::byte* in, DType to, std::byte* out, std::int64_t n);

}  // namespace sinter::ir
