#include "runtime/blas.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "ir/base/log.h"

namespace sinter::runtime {
namespace {

// Values of the C interface, which its header fixes.
constexpr int row_major = 101, not_transposed = 111, transposed = 112;

template <class T>
using CblasGemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha,
                           const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);

struct Symbols {
  CblasGemm<float> sgemm = nullptr;
  CblasGemm<double> dgemm = nullptr;
};

Symbols& symbols() {
  static Symbols instance;
  return instance;
}

template <class T>
void call(CblasGemm<T> gemm, bool transpose_a, bool transpose_b, int m, int n, int k, const T* a, int lda,
          const T* b, int ldb, T beta, T* c, int ldc) {
  gemm(row_major, transpose_a ? transposed : not_transposed, transpose_b ? transposed : not_transposed, m, n,
       k, T{1}, a, lda, b, ldb, beta, c, ldc);
}

void sgemm(bool transpose_a, bool transpose_b, int m, int n, int k, const float* a, int lda, const float* b,
           int ldb, float beta, float* c, int ldc) {
  call(symbols().sgemm, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

void dgemm(bool transpose_a, bool transpose_b, int m, int n, int k, const double* a, int lda, const double* b,
           int ldb, double beta, double* c, int ldc) {
  call(symbols().dgemm, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

template <class F>
F find(void* library, const char* symbol) {
  return reinterpret_cast<F>(dlsym(library, symbol));
}

}  // namespace

Blas load_blas(std::initializer_list<const char*> names) {
  std::vector<std::string> faults;
  for (const char* name : names) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* reason = dlerror();
      faults.emplace_back(reason != nullptr ? reason : name);
      continue;
    }
    symbols() = {find<CblasGemm<float>>(library, "cblas_sgemm"),
                 find<CblasGemm<double>>(library, "cblas_dgemm")};
    const auto set_threads = find<void (*)(int)>(library, "openblas_set_num_threads");
    const auto config = find<char* (*)()>(library, "openblas_get_config");
    if (symbols().sgemm == nullptr || symbols().dgemm == nullptr || set_threads == nullptr) {
      faults.push_back(fmt::format("{}: has no C interface (cblas)", name));
      continue;
    }
    set_threads(1);
    return {sgemm, dgemm, fmt::format("{}: {}", name, config != nullptr ? config() : "unknown version")};
  }
  std::string searched = fmt::format("{}", fmt::join(faults, "; "));
  warn_once("no blas",
            "OpenBLAS cannot be loaded, so matrix products are slow ({}); install libopenblas0, or add its "
            "directory "
            "to LD_LIBRARY_PATH",
            searched);
  return {nullptr, nullptr, std::move(searched)};
}

const Blas& blas() {
  static const Blas library = load_blas({"libopenblas.so.0", "libopenblas.so"});
  return library;
}

}  // namespace sinter::runtime
