// Arrays of random numbers, as operands of formulas that are compared within bounds.
#pragma once

#include <vector>

#include "ir/array.h"
#include "tests/support/random.h"

namespace sinter::testing {

/// Of a float dtype, from -2 up to 2.
inline ir::Array drawn(DType t, const std::vector<std::int64_t>& shape, Random& random) {
  ir::Array array(t, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.set(i, ir::Scalar::from_real(t, 4 * random.uniform() - 2));
  return array;
}

/// The same, by a generator of its own.
inline ir::Array drawn(DType t, const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  Random random(seed);
  return drawn(t, shape, random);
}

}  // namespace sinter::testing
