// error: parameters of a compiled function are Tensor, std::vector<Tensor> or a number
#include <sinter/sinter.h>

#include <string>

void f(sinter::Tensor x) {
  auto named = sinter::compile([](sinter::Tensor t, std::string) { return t; });
  named(x, "name");
}
