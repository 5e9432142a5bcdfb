// Matrix products on the CPU, for every dtype and any strides.
//
// f32 and f64 go to OpenBLAS without a copy where an operand's rows or columns are dense, and through packed
// blocks where they are not. f16 and bf16 are computed in f32 and rounded once. Whole numbers wrap in their
// own dtype. The division into blocks depends on the shape alone, so results do not change with the number of
// threads.
#pragma once

#include <cstdint>

#include "runtime/blas.h"
#include "sinter/dtype.h"

namespace sinter::runtime {

struct MatmulShape {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
};

/// The element (i, j) of matrix b of a batch is at data + b*batch + i*row + j*column, counted in elements;
/// strides may be zero or negative.
template <class Void>
struct BasicMatrix {
  Void* data = nullptr;
  std::int64_t batch = 0, row = 0, column = 1;
};
using StridedMatrix = BasicMatrix<const void>;
using MutableMatrix = BasicMatrix<void>;

/// C = A B for each matrix of the batch: A is m x k, B is k x n, C is m x n, which overlaps neither. Any
/// dtype but bool.
void matmul(DType dtype, const MatmulShape& shape, const StridedMatrix& a, const StridedMatrix& b,
            const MutableMatrix& c);

/// The same with this library in place of OpenBLAS; its members may be null. For tests.
void matmul(DType dtype, const MatmulShape& shape, const StridedMatrix& a, const StridedMatrix& b,
            const MutableMatrix& c, const Blas& library);

}  // namespace sinter::runtime
