// The parts of the table of workloads, and what they share: groups of parameters and of inputs.
#pragma once

#include <string>
#include <vector>

#include "samples/suite/workload.h"

namespace suite {

std::vector<Workload> elementwise_workloads();
std::vector<Workload> row_workloads();
std::vector<Workload> norm_backward_workloads();
std::vector<Workload> sum_workloads();
std::vector<Workload> layout_workloads();
std::vector<Workload> optimizer_workloads();
std::vector<Workload> product_workloads();

inline Parameter dtype_parameter() {
  return {"dtype", "f32"};
}
/// rows, cols and dtype.
std::vector<Parameter> matrix_parameters();

/// An input of shape [rows, cols].
Input matrix_input(const Parameters& p, std::string name, Draw draw = Draw::normal);
/// An input of shape [cols].
Input row_input(const Parameters& p, std::string name);
/// One matrix, x.
std::vector<Input> one_matrix(const Parameters& p);

/// A formula of one tensor.
inline auto unary(sinter::Tensor (*f)(const sinter::Tensor&)) {
  return [f](const Tensors& x, const Parameters&) -> Tensors { return {f(x[0])}; };
}

}  // namespace suite
