// Steps of optimizers.
#include "samples/suite/parts.h"

namespace suite {
namespace {

using sinter::Tensor;

/// One step of AdamW (Loshchilov and Hutter 2019), the first: corrected by 1 - beta.
Tensors adamw(const Tensor& parameter, const Tensor& gradient, const Tensor& first, const Tensor& second) {
  const Tensor m = 0.9 * first + 0.1 * gradient;
  const Tensor v = 0.999 * second + 0.001 * gradient * gradient;
  const Tensor step = (m / 0.1) / (sinter::sqrt(v / 0.001) + 1e-8) + 0.01 * parameter;
  return {parameter - 1e-3 * step, m, v};
}

/// The parameter called `name`, its gradient and its two moments.
void add_parameter(std::vector<Input>& inputs, const Parameters& p, const std::string& name,
                   const std::vector<sinter::Length>& shape) {
  inputs.push_back({name, p.dtype(), shape});
  inputs.push_back({name + "_gradient", p.dtype(), shape});
  inputs.push_back({name + "_m", p.dtype(), shape});
  inputs.push_back({name + "_v", p.dtype(), shape, Draw::positive});
}

/// Those of a transformer: a table of `rows` tokens, and `layers` of attention of width dim and of a
/// feed-forward part of width cols.
std::vector<Input> transformer_parameters(const Parameters& p) {
  const sinter::Length dim = p.length("dim"), cols = p.length("cols");
  std::vector<Input> inputs;
  add_parameter(inputs, p, "tokens", {p.length("rows"), dim});
  for (std::int64_t layer = 0; layer < p.count("layers"); ++layer) {
    const std::string prefix = "layer" + std::to_string(layer) + "_";
    for (const char* name : {"query", "key", "value", "out"}) {
      add_parameter(inputs, p, prefix + name, {dim, dim});
      add_parameter(inputs, p, prefix + name + "_bias", {dim});
    }
    add_parameter(inputs, p, prefix + "up", {dim, cols});
    add_parameter(inputs, p, prefix + "up_bias", {cols});
    add_parameter(inputs, p, prefix + "down", {cols, dim});
    for (const char* name : {"down_bias", "norm1_weight", "norm1_bias", "norm2_weight", "norm2_bias"})
      add_parameter(inputs, p, prefix + name, {dim});
  }
  return inputs;
}

Tensors adamw_many(const Tensors& x, const Parameters&) {
  Tensors outputs;
  for (std::size_t i = 0; i < x.size(); i += 4)
    for (Tensor& y : adamw(x[i], x[i + 1], x[i + 2], x[i + 3])) outputs.push_back(std::move(y));
  return outputs;
}

}  // namespace

std::vector<Workload> optimizer_workloads() {
  return {
      {"adamw", "a step of AdamW on all elements", matrix_parameters(),
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "parameter"), matrix_input(p, "gradient"),
                                   matrix_input(p, "m"), matrix_input(p, "v", Draw::positive)};
       },
       [](const Tensors& x, const Parameters&) { return adamw(x[0], x[1], x[2], x[3]); }},
      {"adamw_many",
       "a step of AdamW on 1 + 16 layers tensors, small and large",
       {{"rows", "4096"}, {"dim", "128"}, {"cols", "512"}, {"layers", "12"}, dtype_parameter()},
       transformer_parameters,
       adamw_many},
  };
}

}  // namespace suite
