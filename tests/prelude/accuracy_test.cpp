// The bounds that the prelude promises for its f32 functions.
#include "tests/prelude/accuracy.h"
#include "tests/catch.h"

namespace sinter::testing {
namespace {

void check_all(std::span<const UnaryFunction> functions, std::uint64_t stride) {
  for (const UnaryFunction& function : functions) {
    const Accuracy accuracy = measure(function, stride);
    INFO(function.name << ": " << accuracy.describe());
    CHECK(accuracy.worst <= function.bound);
    CHECK(accuracy.wrong_class == 0);
  }
}

void check_all(std::span<const BinaryFunction> functions, std::uint64_t count) {
  for (const BinaryFunction& function : functions) {
    const Accuracy accuracy = measure(function, count);
    INFO(function.name << ": " << accuracy.describe());
    CHECK(accuracy.worst <= function.bound);
    CHECK(accuracy.wrong_class == 0);
  }
}

void check_stored(std::uint64_t stride) {
  constexpr double bound = 0.52;  // docs/numerics.md
  for (const NarrowFunction& function : narrow_functions())
    for (const DType stored : {f16, bf16}) {
      if (stored == f16 && function.ends_in == bf16) continue;
      const Accuracy accuracy = measure_stored(function, stored, stride);
      INFO(function.name << " in " << name(stored) << ": " << accuracy.describe());
      CHECK(accuracy.worst <= bound);
      CHECK(accuracy.wrong_class == 0);
    }
}

constexpr std::uint64_t sample_stride = 1021;  // prime, so that no place of the bits is fixed

TEST_CASE("f32 functions of one operand keep their bounds on a sample") {
  check_all(unary_functions(), sample_stride);
}

TEST_CASE("sine, cosine and tangent are right for the greatest angles too") {
  check_all(unary_functions_of_large_angles(), sample_stride);
}

TEST_CASE("f32 functions of two operands keep their bounds on a sample") {
  check_all(binary_functions(), 1 << 20);
}

TEST_CASE("narrow functions are within 0.52 units of 16 bits on a sample") {
  check_stored(sample_stride);
}

TEST_CASE("narrow functions are within 0.52 units of 16 bits for every operand", "[.][exhaustive]") {
  check_stored(1);
}

TEST_CASE("f32 functions of one operand keep their bounds for every operand", "[.][exhaustive]") {
  check_all(unary_functions(), 1);
}

TEST_CASE("f32 functions of two operands keep their bounds on a large sample", "[.][exhaustive]") {
  check_all(binary_functions(), std::uint64_t{1} << 31);
}

}  // namespace
}  // namespace sinter::testing
