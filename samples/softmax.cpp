// Softmax from its formula: two reductions over each row and what lies between them become one kernel.
//
//   softmax [rows] [columns]
#include "compare.h"

using sinter::Tensor;

int main(int argc, char** argv) {
  const auto softmax = [](Tensor x) {
    const Tensor e = exp(x - max(x, {.axes = {-1}, .keepdims = true}));
    return e / sum(e, {.axes = {-1}, .keepdims = true});
  };
  const Tensor x =
      sinter::randn({length_argument(argc, argv, 1, 2048), length_argument(argc, argv, 2, 2048)});
  return compare("softmax", softmax, x, 1e-6) ? 0 : 1;
}
