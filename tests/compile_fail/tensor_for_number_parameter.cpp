// error: a parameter of number type takes a number
#include <sinter/sinter.h>

void f(sinter::Tensor x) {
  auto scaled = sinter::compile([](sinter::Tensor t, double factor) { return t * factor; });
  scaled(x, x);
}
