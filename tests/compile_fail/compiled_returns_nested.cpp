// error: a compiled function returns a Tensor, or a vector, tuple, pair or array of them
#include <sinter/sinter.h>

void f(sinter::Tensor x) {
  auto nested = sinter::compile([](sinter::Tensor y) { return std::pair{y, std::array{y, y}}; });
  nested(x);
}
