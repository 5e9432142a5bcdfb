// Comparing results as docs/numerics.md says: first the class (NaN, an infinity, finite), then the number.
//
// Each function returns nothing when all is well, else a text for the test's report: where, what came, what
// was expected, and how far apart they are. Use as
//
//     CHECK(mismatch(got, evaluate_reference(g, inputs)[0], {.ulps = 2}) == "");
#pragma once

#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/evaluate_reference.h"

namespace sinter::testing {

/// The distance between neighbouring numbers of a float dtype at `value`; at least that of the subnormals.
long double ulp(DType t, long double value);

/// |got - expected| may be ulps * ulp(expected) + absolute.
struct Tolerance {
  double ulps = 0;
  double absolute = 0;
  bool signed_zeros = false;  // -0.0 and 0.0 differ
};

/// The first element that is off, or "". Whole numbers and bool must be equal; with no tolerance floats must
/// be the expected value rounded to the dtype.
std::string mismatch(const ir::Array& got, const ir::Exact& expected, const Tolerance& tolerance = {});

/// The same where each element has an absolute tolerance of its own (see error_bounds.h); infinite: not
/// compared.
std::string mismatch_within(const ir::Array& got, const ir::Exact& expected,
                            const std::vector<double>& error);

/// Bit for bit, but every NaN is as good as another.
std::string mismatch_in_bits(const ir::Array& got, const ir::Array& expected);

/// What a sum of n numbers may be off by: c * eps * log2(n) * sum of magnitudes.
double reduction_bound(DType t, std::int64_t n, double sum_of_magnitudes, double c = 1);

}  // namespace sinter::testing
