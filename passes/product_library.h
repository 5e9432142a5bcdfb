// What the target's library of matrix products can do. Passes and the fuser see to the rest.
#pragma once

namespace sinter::passes {

struct ProductLibrary {
  bool whole_numbers = true;  // else such products are written as sums (passes/lower_products.h)
  bool any_strides = true;    // else operands of which neither rows nor columns are dense are copied first
  bool adds_bias = false;     // to the rows of a product of floats, before it is rounded
};

}  // namespace sinter::passes
