#include <string>

#include "samples/suite/by_hand.h"
#include "samples/suite/workload.h"

namespace suite {
namespace {

using sinter::Length;
using sinter::Tensor;

// The parameters of groups of workloads.

const Parameter dtype{"dtype", "f32"};
const std::vector<Parameter> matrix{{"rows", "4096"}, {"cols", "4096"}, dtype};
const std::vector<Parameter> product{{"rows", "1024"}, {"cols", "1024"}, {"dim", "1024"}, dtype};

// The inputs of groups of workloads.

Input matrix_input(const Parameters& p, std::string name, Draw draw = Draw::normal) {
  return {std::move(name), p.dtype(), {p.length("rows"), p.length("cols")}, draw};
}
Input row_input(const Parameters& p, std::string name) {
  return {std::move(name), p.dtype(), {p.length("cols")}};
}

std::vector<Input> one_matrix(const Parameters& p) {
  return {matrix_input(p, "x")};
}
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

/// A formula of one tensor.
auto unary(Tensor (*f)(const Tensor&)) {
  return [f](const Tensors& x, const Parameters&) -> Tensors { return {f(x[0])}; };
}

std::vector<Workload> activations() {
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
  };
}

std::vector<Workload> rows() {
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
      {"column_sum", "the sum of every column", matrix, one_matrix,
       unary([](const Tensor& x) { return sinter::sum(x, {.axes = 0}); })},
      {"sum", "the sum of all elements", matrix, one_matrix,
       unary([](const Tensor& x) { return sinter::sum(x); })},
      {"add_transposed", "x plus the transpose of y", matrix,
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "x"),
                                   {"y", p.dtype(), {p.length("cols"), p.length("rows")}}};
       },
       [](const Tensors& x, const Parameters&) -> Tensors {
         return {x[0] + sinter::matrix_transpose(x[1])};
       }},
  };
}

/// One step of AdamW (Loshchilov and Hutter 2019), the first: corrected by 1 - beta.
Tensors adamw(const Tensors& x, const Parameters&) {
  const Tensor &parameter = x[0], &gradient = x[1];
  const Tensor m = 0.9 * x[2] + 0.1 * gradient;
  const Tensor v = 0.999 * x[3] + 0.001 * gradient * gradient;
  const Tensor step = (m / 0.1) / (sinter::sqrt(v / 0.001) + 1e-8) + 0.01 * parameter;
  return {parameter - 1e-3 * step, m, v};
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

Tensors chain(const Tensors& x, const Parameters& p) {
  Tensor y = x[0];
  for (std::int64_t i = 0; i < p.count("layers"); ++i) y = sinter::sin(y) * 1.01 + 0.1;
  return {y};
}

std::vector<Workload> products_and_more() {
  return {
      {"adamw", "a step of AdamW on all elements", matrix,
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "parameter"), matrix_input(p, "gradient"),
                                   matrix_input(p, "m"), matrix_input(p, "v", Draw::positive)};
       },
       adamw},
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
       {{"dim", "512"}, {"layers", "4"}, {"batch", "128"}, dtype},
       mlp_inputs,
       mlp},
      {"cdist", "distances between the rows of two matrices", product,
       [](const Parameters& p) {
         return std::vector<Input>{{"a", p.dtype(), {p.length("rows"), p.length("dim")}},
                                   {"b", p.dtype(), {p.length("cols"), p.length("dim")}}};
       },
       cdist},
      {"chain",
       "three small operations, layers times over",
       {{"rows", "1"}, {"cols", "1024"}, {"layers", "20"}, dtype},
       one_matrix,
       chain},
  };
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = [] {
    std::vector<Workload> list = activations();
    for (auto* more : {rows, products_and_more})
      for (Workload& workload : more()) list.push_back(std::move(workload));
    return list;
  }();
  return all;
}

const Workload* find_workload(std::string_view name) {
  for (const Workload& workload : workloads())
    if (workload.name == name) return &workload;
  return nullptr;
}

}  // namespace suite
