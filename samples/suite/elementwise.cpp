// What works on each element by itself.
#include "samples/suite/by_hand.h"
#include "samples/suite/parts.h"

namespace suite {
namespace {

using sinter::Tensor;

Tensors chain(const Tensors& x, const Parameters& p) {
  Tensor y = x[0];
  for (std::int64_t i = 0; i < p.count("layers"); ++i) y = sinter::sin(y) * 1.01 + 0.1;
  return {y};
}

}  // namespace

std::vector<Workload> elementwise_workloads() {
  const std::vector<Parameter> matrix = matrix_parameters();
  return {
      {"gelu", "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))", matrix, one_matrix,
       unary([](const Tensor& x) { return sinter::gelu(x); }), gelu_by_hand},
      {"gelu_erf", "x Phi(x), by the error function", matrix, one_matrix,
       unary([](const Tensor& x) { return sinter::gelu_erf(x); })},
      {"silu", "x sigmoid(x)", matrix, one_matrix, unary([](const Tensor& x) { return sinter::silu(x); })},
      {"swiglu", "silu(gate) x", matrix,
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "gate"), matrix_input(p, "x")};
       },
       [](const Tensors& x, const Parameters&) -> Tensors { return {sinter::swiglu(x[0], x[1])}; }},
      {"bias_gelu", "gelu(x + bias)", matrix,
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "x"), row_input(p, "bias")};
       },
       [](const Tensors& x, const Parameters&) -> Tensors { return {sinter::gelu(x[0] + x[1])}; }},
      {"chain",
       "three small operations, layers times over",
       {{"rows", "1"}, {"cols", "1024"}, {"layers", "20"}, dtype_parameter()},
       one_matrix,
       chain},
  };
}

}  // namespace suite
