// Sums of columns and of everything.
#include "samples/suite/parts.h"

namespace suite {

using sinter::Tensor;

std::vector<Workload> sum_workloads() {
  const std::vector<Parameter> matrix = matrix_parameters();
  return {
      {"column_sum", "the sum of every column", matrix, one_matrix,
       unary([](const Tensor& x) { return sinter::sum(x, {.axes = 0}); })},
      {"sum_and_sumsq", "the sum of every column, and that of its squares", matrix, one_matrix,
       [](const Tensors& x, const Parameters&) -> Tensors {
         return {sinter::sum(x[0], {.axes = 0}), sinter::sum(x[0] * x[0], {.axes = 0})};
       }},
      {"sum", "the sum of all elements", matrix, one_matrix,
       unary([](const Tensor& x) { return sinter::sum(x); })},
  };
}

}  // namespace suite
