#include "tests/onnx/expr.h"

#include <algorithm>
#include <numeric>

namespace sinter::testing::onnx {
namespace {

ir::Shape shape_of(const std::vector<std::int64_t>& lengths) {
  return ir::Shape(std::vector<ir::Dim>(lengths.begin(), lengths.end()));
}

}  // namespace

std::int64_t Expr::length(std::int64_t axis) const {
  return graph->shape(value)[ir::normalize_axis(axis, graph->shape(value).rank(), "onnx")].value();
}

Expr apply(ir::Op op, std::initializer_list<Term> terms) {
  ir::Graph* graph = nullptr;
  std::vector<ir::Operand> operands;
  for (const Term& term : terms) {
    if (term.graph != nullptr) graph = term.graph;
    operands.push_back(term.operand);
  }
  return {graph, ir::elementwise(*graph, op, operands)};
}

Expr cast(const Expr& x, DType dtype) {
  return {x.graph, ir::cast(*x.graph, x.value, dtype)};
}

Expr reduce(ir::Op op, const Expr& x, const Axes& axes, bool keepdims) {
  return cast({x.graph, ir::reduce(*x.graph, op, x.value, axes, keepdims)}, x.dtype());
}

Expr mean(const Expr& x, const Axes& axes, bool keepdims) {
  const Expr total = reduce(ir::Op::sum, x, axes, keepdims);
  return total * (static_cast<double>(total.elements()) / static_cast<double>(x.elements()));
}

Expr reshape(const Expr& x, const std::vector<std::int64_t>& shape) {
  return {x.graph, ir::reshape(*x.graph, x.value, shape_of(shape))};
}

Expr broadcast_to(const Expr& x, const std::vector<std::int64_t>& shape) {
  return {x.graph, ir::broadcast_to(*x.graph, x.value, shape_of(shape))};
}

Expr permute(const Expr& x, std::vector<std::int64_t> axes) {
  return {x.graph, ir::permute_dims(*x.graph, x.value, std::move(axes))};
}

Expr slice(const Expr& x, const std::vector<ir::Range>& ranges) {
  return {x.graph, ir::slice(*x.graph, x.value, ranges)};
}

Expr concat(const std::vector<Expr>& tensors, std::int64_t axis) {
  std::vector<ir::Value> values;
  for (const Expr& x : tensors) values.push_back(x.value);
  return {tensors.at(0).graph, ir::concat(*tensors.at(0).graph, values, axis)};
}

Expr count_along(ir::Graph& graph, const std::vector<std::int64_t>& shape, std::int64_t axis, DType dtype) {
  return {&graph, ir::iota(graph, shape_of(shape), axis, dtype)};
}

Expr constant(ir::Graph& graph, DType dtype, double value) {
  return {&graph, graph.constant(ir::Scalar::from_real(dtype, value))};
}

Expr unsqueeze(const Expr& x, std::vector<std::int64_t> axes) {
  const auto rank = x.rank() + static_cast<std::int64_t>(axes.size());
  for (std::int64_t& axis : axes) axis = ir::normalize_axis(axis, static_cast<int>(rank), "Unsqueeze");
  std::ranges::sort(axes);
  std::vector<std::int64_t> shape = x.shape();
  for (std::int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return reshape(x, shape);
}

std::vector<std::int64_t> with_length(const Expr& x, std::int64_t axis, std::int64_t length) {
  std::vector<std::int64_t> shape = x.shape();
  shape.at(static_cast<std::size_t>(ir::normalize_axis(axis, static_cast<int>(x.rank()), "onnx"))) = length;
  return shape;
}

Expr log_softmax(const Expr& x, std::int64_t axis) {
  const Expr shifted = x - reduce(ir::Op::max, x, Axes{{axis}}, true);
  return shifted - log(reduce(ir::Op::sum, exp(shifted), Axes{{axis}}, true));
}

}  // namespace sinter::testing::onnx
