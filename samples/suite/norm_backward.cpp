// The gradients of norms, which reduce rows and columns of the same tensors.
#include "samples/suite/parts.h"

namespace suite {
namespace {

using sinter::DType;
using sinter::Tensor;

/// The dtype of a norm's statistics and of its sums.
DType wide_dtype(DType t) {
  return t == sinter::f64 ? t : sinter::f32;
}
Tensor wide(const Tensor& x) {
  return sinter::astype(x, wide_dtype(x.dtype()));
}

/// One number a row that the forward pass has kept.
Input statistic(const Parameters& p, std::string name, Draw draw = Draw::normal) {
  return {std::move(name), wide_dtype(p.dtype()), {p.length("rows"), 1}, draw};
}

Tensor row_mean(const Tensor& x) {
  return sinter::mean(x, {.axes = -1, .keepdims = true});
}
Tensor column_sum(const Tensor& x, DType dtype) {
  return sinter::astype(sinter::sum(x, {.axes = 0}), dtype);
}

/// Gradients of x, weight and bias, where layernorm(x) = (x - mean) rstd weight + bias.
Tensors layernorm_backward(const Tensors& inputs, const Parameters& p) {
  const Tensor &x = inputs[0], &weight = inputs[1], &mean = inputs[2], &rstd = inputs[3];
  const Tensor dy = wide(inputs[4]), normal = (wide(x) - mean) * rstd, dnormal = dy * wide(weight);
  const Tensor dx = (dnormal - row_mean(dnormal) - normal * row_mean(dnormal * normal)) * rstd;
  return {sinter::astype(dx, p.dtype()), column_sum(dy * normal, p.dtype()), column_sum(dy, p.dtype())};
}

/// Gradients of x and weight, where rmsnorm(x) = x rstd weight.
Tensors rmsnorm_backward(const Tensors& inputs, const Parameters& p) {
  const Tensor &x = inputs[0], &weight = inputs[1], &rstd = inputs[2];
  const Tensor dy = wide(inputs[3]), normal = wide(x) * rstd, dnormal = dy * wide(weight);
  const Tensor dx = (dnormal - normal * row_mean(dnormal * normal)) * rstd;
  return {sinter::astype(dx, p.dtype()), column_sum(dy * normal, p.dtype())};
}

}  // namespace

std::vector<Workload> norm_backward_workloads() {
  return {
      {"layernorm_backward", "gradients of layernorm: of x, weight and bias", matrix_parameters(),
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "x"), row_input(p, "weight"), statistic(p, "mean"),
                                   statistic(p, "rstd", Draw::positive), matrix_input(p, "dy")};
       },
       layernorm_backward},
      {"rmsnorm_backward", "gradients of rmsnorm: of x and weight", matrix_parameters(),
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "x"), row_input(p, "weight"),
                                   statistic(p, "rstd", Draw::positive), matrix_input(p, "dy")};
       },
       rmsnorm_backward},
  };
}

}  // namespace suite
