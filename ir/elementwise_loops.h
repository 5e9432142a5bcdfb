// The op table's elementwise reference columns as loops over arrays, one per C++ type that the typed
// evaluator computes in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/op.h"

namespace sinter::ir {

/// y[i] = op(a[i], b[i], c[i]); operands beyond the op's arity are not looked at, but must be readable.
/// `whole` leaves wrapping to the result's dtype to whoever stores y; `t` is the operands' dtype.
struct ElementwiseLoops {
  void (*f32)(const float* a, const float* b, const float* c, float* y, std::size_t n);
  void (*f64)(const double* a, const double* b, const double* c, double* y, std::size_t n);
  void (*whole)(const std::int64_t* a, const std::int64_t* b, const std::int64_t* c, std::int64_t* y,
                std::size_t n, DType t);
};

/// Only for the elementwise family.
const ElementwiseLoops& elementwise_loops(Op op);

}  // namespace sinter::ir
