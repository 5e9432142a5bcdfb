// What reads its inputs at other places than it writes.
#include <algorithm>

#include "samples/suite/parts.h"

namespace suite {
namespace {

using sinter::Tensor;

/// Queries of attention, scaled, from [batch, rows, heads, cols] to [batch, heads, rows, cols].
Tensors permute0213(const Tensors& x, const Parameters&) {
  return {sinter::permute_dims(x[0], {0, 2, 1, 3}) * 0.125};
}

/// A batch norm that has become a weight and a bias of each channel.
Tensors nchw_to_nhwc(const Tensors& x, const Parameters&) {
  return {sinter::permute_dims(x[0], {0, 2, 3, 1}) * x[1] + x[2]};
}

/// Rows of the table that nothing reads need not move, and one that is read twice moves once.
double bytes_of_embedding(const Tensors& inputs, const Tensors& outputs) {
  const auto bytes = [](const Tensor& x) { return static_cast<double>(x.nbytes()); };
  return std::min(bytes(inputs[0]), bytes(outputs[0])) + bytes(inputs[1]) + bytes(outputs[0]);
}

/// What the table's gradient is where take() has read its rows.
Workload embedding_backward(const std::string& name, const std::string& doc, Draw draw) {
  return {name,
          doc,
          {{"batch", "4096"}, {"rows", "8192"}, {"cols", "1024"}, dtype_parameter()},
          [draw](const Parameters& p) {
            return std::vector<Input>{{"gradient", p.dtype(), {p.length("batch"), p.length("cols")}},
                                      {"index", sinter::int64, {p.length("batch")}, draw}};
          },
          [](const Tensors& x, const Parameters& p) -> Tensors {
            return {sinter::scatter_add(x[0], x[1], p.count("rows"))};
          }};
}

}  // namespace

std::vector<Workload> layout_workloads() {
  return {
      {"add_transposed", "x plus the transpose of y", matrix_parameters(),
       [](const Parameters& p) {
         return std::vector<Input>{matrix_input(p, "x"),
                                   {"y", p.dtype(), {p.length("cols"), p.length("rows")}}};
       },
       [](const Tensors& x, const Parameters&) -> Tensors {
         return {x[0] + sinter::matrix_transpose(x[1])};
       }},
      {"permute0213",
       "x / 8 with its middle axes, rows and dim, exchanged",
       {{"batch", "8"}, {"rows", "512"}, {"dim", "16"}, {"cols", "64"}, dtype_parameter()},
       [](const Parameters& p) {
         return std::vector<Input>{
             {"x", p.dtype(), {p.length("batch"), p.length("rows"), p.length("dim"), p.length("cols")}}};
       },
       permute0213},
      {"nchw_to_nhwc",
       "x weight + bias of dim channels, which become the last",
       {{"batch", "16"}, {"dim", "64"}, {"rows", "56"}, {"cols", "56"}, dtype_parameter()},
       [](const Parameters& p) {
         const sinter::Length dim = p.length("dim");
         return std::vector<Input>{
             {"x", p.dtype(), {p.length("batch"), dim, p.length("rows"), p.length("cols")}},
             {"weight", p.dtype(), {dim}},
             {"bias", p.dtype(), {dim}}};
       },
       nchw_to_nhwc},
      {.name = "embedding",
       .doc = "rows of a table, by a batch of indices",
       .parameters = {{"batch", "4096"}, {"rows", "8192"}, {"cols", "1024"}, dtype_parameter()},
       .inputs =
           [](const Parameters& p) {
             return std::vector<Input>{matrix_input(p, "table"),
                                       {"index", sinter::int64, {p.length("batch")}}};
           },
       .formula = [](const Tensors& x, const Parameters&) -> Tensors {
         return {sinter::take(x[0], x[1], 0)};
       },
       .bytes = bytes_of_embedding},
      embedding_backward("embedding_backward", "sums of a batch of rows, each at an index", Draw::normal),
      embedding_backward("embedding_backward_one_often", "the same where half of the indices are 0",
                         Draw::one_often),
  };
}

}  // namespace suite
