// error: wrong number of arguments for the compiled function
#include <sinter/sinter.h>

sinter::Tensor f(sinter::Tensor x) {
  auto twice = sinter::compile([](sinter::Tensor t) { return t + t; });
  return twice(x, x);
}
