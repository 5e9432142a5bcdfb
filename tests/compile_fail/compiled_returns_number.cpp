// error: a compiled function returns a Tensor, or a vector, tuple, pair or array of them
#include <sinter/sinter.h>

void f(sinter::Tensor x) {
  auto constant = sinter::compile([](sinter::Tensor) { return 1.0; });
  constant(x);
}
