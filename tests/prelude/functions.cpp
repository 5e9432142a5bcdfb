// The loops over the prelude's f32 functions. This file is compiled as a kernel is.
#include <cmath>

#include "tests/prelude/accuracy.h"
#include "tests/prelude/host_prelude.h"

namespace sinter::testing {
namespace {

// clang-format off
#define UNARY(name, bound, exact, ...) \
  UnaryFunction{#name, bound, \
                [](const float* a, float* out, std::size_t n) { \
                  _Pragma("omp simd") for (std::size_t i = 0; i < n; ++i) out[i] = kernel::name(a[i]); \
                }, \
                [](double x) -> double { return exact; } __VA_OPT__(,) __VA_ARGS__}

#define BINARY(name, bound, exact) \
  BinaryFunction{#name, bound, \
                 [](const float* a, const float* b, float* out, std::size_t n) { \
                   _Pragma("omp simd") for (std::size_t i = 0; i < n; ++i) \
                     out[i] = kernel::name(a[i], b[i]); \
                 }, \
                 [](double x, double y) -> double { return exact; }}

constexpr UnaryFunction unary[] = {
    UNARY(exp, 0.9, std::exp(x)),
    UNARY(exp2, 0.88, std::exp2(x)),
    UNARY(expm1, 1.53, std::expm1(x)),
    UNARY(log, 0.94, std::log(x)),
    UNARY(log2, 1.43, std::log2(x)),
    UNARY(log10, 1.48, std::log10(x)),
    UNARY(log1p, 1.27, std::log1p(x)),
    UNARY(sin, 1.49, std::sin(x), 1e5f),
    UNARY(cos, 1.52, std::cos(x), 1e5f),
    UNARY(tan, 3.09, std::tan(x), 1e5f),
    UNARY(asin, 1.9, std::asin(x)),
    UNARY(acos, 1.27, std::acos(x)),
    UNARY(atan, 1.57, std::atan(x)),
    UNARY(sinh, 1.62, std::sinh(x)),
    UNARY(cosh, 1.35, std::cosh(x)),
    UNARY(tanh, 2.57, std::tanh(x)),
    UNARY(asinh, 1.93, std::asinh(x)),
    UNARY(acosh, 2.01, std::acosh(x)),
    UNARY(atanh, 2.0, std::atanh(x)),
    UNARY(erf, 1.47, std::erf(x)),
    UNARY(erfc, 3.48, std::erfc(x)),
    UNARY(sqrt, 0.5, std::sqrt(x)),
    UNARY(rsqrt, 1.5, 1 / std::sqrt(x)),
    UNARY(reciprocal, 0.5, 1 / x),
};

constexpr UnaryFunction beyond[] = {
    UNARY(sin, 3.18, std::sin(x)),
    UNARY(cos, 3.34, std::cos(x)),
    UNARY(tan, 4.25, std::tan(x)),
};

constexpr BinaryFunction binary[] = {
    BINARY(pow, 3, std::pow(x, y)),
    BINARY(atan2, 2, std::atan2(x, y)),
    BINARY(hypot, 1.25, std::hypot(x, y)),
};

// What may follow: NarrowFunction's flushes and least.
#define NARROW(name, dtype, exact, ...) \
  NarrowFunction{#name, dtype, \
                 [](const float* a, float* out, std::size_t n) { \
                   _Pragma("omp simd") for (std::size_t i = 0; i < n; ++i) out[i] = kernel::name(a[i]); \
                 }, \
                 [](double x) -> double { return exact; } __VA_OPT__(,) __VA_ARGS__}

constexpr NarrowFunction narrow[] = {
    NARROW(narrow_exp, f16, std::exp(x), true),
    NARROW(narrow_exp2, f16, std::exp2(x), true),
    NARROW(narrow_log, f16, std::log(x)),
    NARROW(narrow_log2, f16, std::log2(x)),
    NARROW(narrow_log10, f16, std::log10(x)),
    NARROW(narrow_log1p, f16, std::log1p(x)),
    NARROW(narrow_sqrt, f16, std::sqrt(x)),
    NARROW(narrow_rsqrt, f16, 1 / std::sqrt(x)),
    NARROW(narrow_reciprocal, f16, 1 / x),
    NARROW(bounded_reciprocal, f16, 1 / x, false, 1),
    NARROW(narrow_tanh, f16, std::tanh(x)),
    NARROW(narrow_erf, f16, std::erf(x)),
    NARROW(narrow_erfc, f16, std::erfc(x)),
    NARROW(coarse_erfc, bf16, std::erfc(x)),
};
// clang-format on

#undef NARROW
#undef UNARY
#undef BINARY

}  // namespace

std::span<const UnaryFunction> unary_functions() {
  return unary;
}
std::span<const UnaryFunction> unary_functions_of_large_angles() {
  return beyond;
}
std::span<const BinaryFunction> binary_functions() {
  return binary;
}
std::span<const NarrowFunction> narrow_functions() {
  return narrow;
}

}  // namespace sinter::testing
