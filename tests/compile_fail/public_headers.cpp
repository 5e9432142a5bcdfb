// compiles
#include <sinter/sinter.h>

// A program of a user's own needs nothing but this header.
sinter::Tensor gelu(sinter::Tensor x) {
  auto compiled = sinter::compile(
      [](sinter::Tensor t) { return 0.5f * t * (1.0f + tanh(0.79788456f * (t + 0.044715f * t * t * t))); });
  return compiled(x);
}
