// GeLU from its formula: nine operations and passes over memory become one.
//
//   gelu [rows] [columns]
#include "compare.h"

using sinter::Tensor;

int main(int argc, char** argv) {
  const auto gelu = [](Tensor x) {
    return 0.5f * x * (1.0f + tanh(0.79788456f * (x + 0.044715f * x * x * x)));
  };
  const Tensor x =
      sinter::randn({length_argument(argc, argv, 1, 2048), length_argument(argc, argv, 2, 2048)});
  return compare("gelu", gelu, x, 1e-6) ? 0 : 1;
}
