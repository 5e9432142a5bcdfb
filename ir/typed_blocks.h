// Moving runs of elements between an array's dtype and the C++ type that the typed evaluator computes in:
// float for f32 and the 16-bit floats, double for f64 and for functions that float would not round correctly,
// int64 for whole numbers and bool. Storing rounds floats to nearest even and wraps whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/reference_math.h"
#include "ir/scalar.h"
#include "sinter/dtype.h"

namespace sinter::ir {

/// Calls `f` with a value of the C++ type that folds and exact functions of the dtype are computed in.
template <class F>
decltype(auto) visit_compute(DType t, F&& f) {
  if (t == DType::f64) return f(double{});
  if (is_float(t)) return f(float{});
  return f(std::int64_t{});
}

template <class C, class T>
C widen(T element) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return static_cast<C>(static_cast<float>(element));
  else
    return static_cast<C>(element);
}

/// Rounds or wraps to T; a double reaches the 16-bit floats by way of f32.
template <class T, class C>
T narrow(C value) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return T(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool> && std::is_integral_v<C>)
    return (value & 1) != 0;
  else if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else
    return static_cast<T>(value);
}

template <class C>
void load_block(DType t, const std::byte* data, std::int64_t first, std::size_t n, C* out) {
  visit_dtype(t, [&](auto type) {
    using T = decltype(type);
    const T* in = reinterpret_cast<const T*>(data) + first;
    for (std::size_t i = 0; i < n; ++i) out[i] = widen<C>(in[i]);
  });
}

template <class C>
void store_block(DType t, const C* in, std::size_t n, std::byte* data, std::int64_t first) {
  visit_dtype(t, [&](auto type) {
    using T = decltype(type);
    T* out = reinterpret_cast<T*>(data) + first;
    for (std::size_t i = 0; i < n; ++i) out[i] = narrow<T>(in[i]);
  });
}

}  // namespace sinter::ir
