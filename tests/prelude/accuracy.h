// How far the prelude's f32 functions are from the exact values, in units of the result's last place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sinter/dtype.h"

namespace sinter::testing {

/// A function of one f32, run over arrays in a vectorised loop, beside the same function in double. The
/// platform's double functions are within 2^-28 of an f32's last place, so they count as exact.
struct UnaryFunction {
  const char* name;
  double bound;  // units of the last place, as the prelude documents it
  void (*run)(const float* a, float* out, std::size_t n);
  double (*exact)(double);
  float greatest = __builtin_huge_valf();  // the bound holds up to this magnitude
};

struct BinaryFunction {
  const char* name;
  double bound;
  void (*run)(const float* a, const float* b, float* out, std::size_t n);
  double (*exact)(double, double);
};

/// A function for values that end in 16 bits.
struct NarrowFunction {
  const char* name;
  DType ends_in;  // f16: in either 16-bit dtype; bf16: in that alone
  void (*run)(const float* a, float* out, std::size_t n);
  double (*exact)(double);
  bool flushes = false;                  // 0 will do for what is below 2^-126
  float least = -__builtin_huge_valf();  // the operands it is for
};

std::span<const UnaryFunction> unary_functions();
std::span<const UnaryFunction> unary_functions_of_large_angles();
std::span<const BinaryFunction> binary_functions();
std::span<const NarrowFunction> narrow_functions();

struct Accuracy {
  double worst = 0;               // over results of the bound's range
  float worst_at[2] = {0, 0};     // the operands there
  std::uint64_t wrong_class = 0;  // NaN, an infinity, or the sign of a zero where it should not be
  float wrong_at[2] = {0, 0};

  void add(float result, double exact, float a, float b);
  void add_stored(double stored, double exact, DType t, float a);
  void merge(const Accuracy& other);
  std::string describe() const;
};

/// Over every `stride`-th bit pattern, on all processors.
Accuracy measure(const UnaryFunction& function, std::uint64_t stride);

/// In units in the last place of the dtype, once rounded to it.
Accuracy measure_stored(const NarrowFunction& function, DType stored, std::uint64_t stride);

/// Over `count` pairs of random bit patterns and as many of moderate numbers.
Accuracy measure(const BinaryFunction& function, std::uint64_t count);

}  // namespace sinter::testing
