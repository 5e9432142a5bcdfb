// Matrix products on a GPU, by cuBLASLt.
//
// f32 products are IEEE unless TF32 is allowed (SINTER_TF32); f16 and bf16 accumulate in f32 and round once.
// Row-major products are computed as their transposes, which the library's column-major order makes of them.
// What the library chose for a product of this shape and layout is kept, so that later calls of the like cost
// little more than the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/matmul.h"
#include "sinter/dtype.h"

namespace sinter::runtime::cuda {

/// Bytes of working memory with which the library has its full choice of algorithms.
inline constexpr std::int64_t matmul_workspace_bytes = 32 << 20;

struct MatmulOptions {
  /// n elements of the product's dtype, added to every row; null for none. f16, bf16 and f32 only, and not
  /// with k = 0. It is added before the row is rounded, except that in 16 bits the library may round in
  /// between where n or k is no multiple of 8.
  const void* bias = nullptr;
  bool tf32 = false;
  /// Memory of the device, aligned to 256 bytes, that nothing else uses until the product has run; without
  /// any, the library chooses among the algorithms that need none.
  void* workspace = nullptr;
  std::int64_t workspace_bytes = 0;
};

/// Whether cuBLASLt reads or writes matrices of these strides where they are: rows or columns are dense, one
/// after the other, and none overlap. Others must be copied first (passes/partition.h has the fuser do it).
bool takes_in_place(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column);

/// Starts C = A B (+ bias) on the stream of the device, which must be the current one: f16, bf16, f32 and
/// f64, for each matrix of the batch. The operands are as takes_in_place() wants them; the batch strides of A
/// and B may be 0, and none is negative. Throws DeviceError where there is no cuBLASLt, or it refuses.
void matmul(DType dtype, const MatmulShape& shape, const StridedMatrix& a, const StridedMatrix& b,
            const MutableMatrix& c, const MatmulOptions& options, cudaStream_t stream, int device);

}  // namespace sinter::runtime::cuda
