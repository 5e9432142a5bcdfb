// What has matrix products.
#include "samples/suite/parts.h"

namespace suite {
namespace {

using sinter::Length;
using sinter::Tensor;

std::vector<Input> left_and_right(const Parameters& p) {
  return {{"x", p.dtype(), {p.length("rows"), p.length("dim")}},
          {"w", p.dtype(), {p.length("dim"), p.length("cols")}, Draw::weights}};
}
std::vector<Input> linear_inputs(const Parameters& p) {
  std::vector<Input> inputs = left_and_right(p);
  inputs.push_back(row_input(p, "bias"));
  return inputs;
}

std::vector<Input> mlp_inputs(const Parameters& p) {
  const Length dim = p.length("dim");
  std::vector<Input> inputs{{"x", p.dtype(), {p.length("batch"), dim}}};
  for (std::int64_t layer = 0; layer < p.count("layers"); ++layer) {
    inputs.push_back({"w" + std::to_string(layer), p.dtype(), {dim, dim}, Draw::weights});
    inputs.push_back({"b" + std::to_string(layer), p.dtype(), {dim}});
  }
  return inputs;
}

Tensors mlp(const Tensors& x, const Parameters& p) {
  Tensor h = x[0];
  for (std::int64_t layer = 0; layer < p.count("layers"); ++layer) {
    const auto i = static_cast<std::size_t>(1 + 2 * layer);
    h = sinter::gelu(sinter::matmul(h, x[i]) + x[i + 1]);
  }
  return {h};
}

/// Distances between the rows of two matrices, by the square of a difference.
Tensors cdist(const Tensors& x, const Parameters&) {
  const Tensor a = sinter::sum(x[0] * x[0], {.axes = 1, .keepdims = true});
  const Tensor b = sinter::sum(x[1] * x[1], {.axes = 1});
  const Tensor squares = a + b - 2.0 * sinter::matmul(x[0], sinter::matrix_transpose(x[1]));
  return {sinter::sqrt(sinter::maximum(squares, 0.0))};
}

}  // namespace

std::vector<Workload> product_workloads() {
  const std::vector<Parameter> product{
      {"rows", "1024"}, {"cols", "1024"}, {"dim", "1024"}, dtype_parameter()};
  return {
      {"matmul", "x w", product, left_and_right,
       [](const Tensors& x, const Parameters&) -> Tensors { return {sinter::matmul(x[0], x[1])}; }},
      {"linear_gelu", "gelu(x w + bias)", product, linear_inputs,
       [](const Tensors& x, const Parameters&) -> Tensors {
         return {sinter::gelu(sinter::matmul(x[0], x[1]) + x[2])};
       }},
      {"layernorm_linear_gelu", "gelu(layernorm(x) w + bias)", product,
       [](const Parameters& p) {
         std::vector<Input> inputs = linear_inputs(p);
         const Length dim = p.length("dim");
         inputs.insert(inputs.begin() + 1,
                       {{"norm_weight", p.dtype(), {dim}}, {"norm_bias", p.dtype(), {dim}}});
         return inputs;
       },
       [](const Tensors& x, const Parameters&) -> Tensors {
         const Tensor normal = sinter::layer_norm(x[0], {.weight = x[1], .bias = x[2]});
         return {sinter::gelu(sinter::matmul(normal, x[3]) + x[4])};
       }},
      {"mlp",
       "layers of gelu(x w + b)",
       {{"dim", "512"}, {"layers", "4"}, {"batch", "128"}, dtype_parameter()},
       mlp_inputs,
       mlp},
      {"cdist", "distances between the rows of two matrices", product,
       [](const Parameters& p) {
         return std::vector<Input>{{"a", p.dtype(), {p.length("rows"), p.length("dim")}},
                                   {"b", p.dtype(), {p.length("cols"), p.length("dim")}}};
       },
       cdist},
  };
}

}  // namespace suite
