// OpenBLAS, loaded when first used.
//
// It runs each call on the calling thread: work is divided over threads by our own pool, so that
// SINTER_THREADS holds for it too and the two do not compete for the cores.
#pragma once

#include <initializer_list>
#include <string>

namespace sinter::runtime {

/// C = A B + beta C in row-major order, where A is m x k, or stored as k x m if `transpose_a`, with `lda`
/// elements from one stored row to the next; B and C likewise. All sizes fit an int.
template <class T>
using Gemm = void (*)(bool transpose_a, bool transpose_b, int m, int n, int k, const T* a, int lda,
                      const T* b, int ldb, T beta, T* c, int ldc);

struct Blas {
  Gemm<float> f32 = nullptr;  // both are null if there is no library
  Gemm<double> f64 = nullptr;
  std::string
      description;  // the library's name, version and kernels; or what was searched, and why it failed
};

/// Loads the first of these libraries that can be; warns once if none can.
Blas load_blas(std::initializer_list<const char*> names);

/// OpenBLAS, looked for at the first call.
const Blas& blas();

}  // namespace sinter::runtime
