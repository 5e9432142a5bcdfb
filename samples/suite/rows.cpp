// What reduces every row, and uses the results in it.
#include "samples/suite/parts.h"

namespace suite {

using sinter::Tensor;

std::vector<Workload> row_workloads() {
  const std::vector<Parameter> matrix = matrix_parameters();
  return {
      {"softmax", "softmax of every row", matrix, one_matrix,
       unary([](const Tensor& x) { return sinter::softmax(x); })},
      {"log_softmax", "the logarithm of softmax of every row", matrix, one_matrix,
       unary([](const Tensor& x) { return sinter::log_softmax(x); })},
      {"layernorm", "(x - mean) / sqrt(var + eps) weight + bias", matrix,
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "x"), row_input(p, "weight"), row_input(p, "bias")};
       },
       [](const Tensors& x, const Parameters&) -> Tensors {
         return {sinter::layer_norm(x[0], {.weight = x[1], .bias = x[2]})};
       }},
      {"rmsnorm", "x / sqrt(mean(x^2) + eps) weight", matrix,
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "x"), row_input(p, "weight")};
       },
       [](const Tensors& x, const Parameters&) -> Tensors {
         return {sinter::rms_norm(x[0], {.weight = x[1]})};
       }},
      {"add_rmsnorm", "h = x + residual, and rmsnorm(h)", matrix,
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "x"), matrix_input(p, "residual"), row_input(p, "weight")};
       },
       [](const Tensors& x, const Parameters&) -> Tensors {
         const Tensor h = x[0] + x[1];
         return {h, sinter::rms_norm(h, {.weight = x[2]})};
       }},
      {"cross_entropy", "the loss of every row of logits against its class", matrix,
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "logits"), {"labels", sinter::int64, {p.length("rows")}}};
       },
       [](const Tensors& x, const Parameters&) -> Tensors { return {sinter::cross_entropy(x[0], x[1])}; }},
  };
}

}  // namespace suite
