// A value of a graph under construction, with operators: formulas of the importers read as formulas.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "ir/build.h"

namespace sinter::testing::onnx {

using Axes = std::optional<std::vector<std::int64_t>>;  // nothing: all of them

struct Expr {
  ir::Graph* graph = nullptr;
  ir::Value value;

  DType dtype() const { return graph->dtype(value); }
  std::vector<std::int64_t> shape() const { return graph->shape(value).values(); }
  std::int64_t rank() const { return graph->shape(value).rank(); }
  /// Length of an axis, which may be negative.
  std::int64_t length(std::int64_t axis) const;
  std::int64_t elements() const { return graph->shape(value).elements().value(); }
};

/// An operand of a formula: a value, or a number without a dtype.
struct Term {
  Term(const Expr& x) : graph(x.graph), operand(x.value) {}
  Term(double x) : operand(ir::Literal{x}) {}
  Term(int x) : operand(ir::Literal{static_cast<std::int64_t>(x)}) {}
  ir::Graph* graph = nullptr;
  ir::Operand operand;
};

/// An elementwise op with promotion and broadcasting.
Expr apply(ir::Op op, std::initializer_list<Term> terms);

inline Expr operator+(const Term& a, const Term& b) {
  return apply(ir::Op::add, {a, b});
}
inline Expr operator-(const Term& a, const Term& b) {
  return apply(ir::Op::sub, {a, b});
}
inline Expr operator*(const Term& a, const Term& b) {
  return apply(ir::Op::mul, {a, b});
}
inline Expr operator/(const Term& a, const Term& b) {
  return apply(ir::Op::div, {a, b});
}
inline Expr operator-(const Expr& a) {
  return apply(ir::Op::neg, {a});
}
inline Expr operator<(const Term& a, const Term& b) {
  return apply(ir::Op::less, {a, b});
}
inline Expr operator<=(const Term& a, const Term& b) {
  return apply(ir::Op::less_equal, {a, b});
}
inline Expr operator>(const Term& a, const Term& b) {
  return apply(ir::Op::greater, {a, b});
}
inline Expr operator>=(const Term& a, const Term& b) {
  return apply(ir::Op::greater_equal, {a, b});
}
inline Expr operator==(const Term& a, const Term& b) {
  return apply(ir::Op::equal, {a, b});
}
inline Expr exp(const Expr& x) {
  return apply(ir::Op::exp, {x});
}
inline Expr log(const Expr& x) {
  return apply(ir::Op::log, {x});
}
inline Expr abs(const Expr& x) {
  return apply(ir::Op::abs, {x});
}
inline Expr sqrt(const Expr& x) {
  return apply(ir::Op::sqrt, {x});
}
inline Expr maximum(const Term& a, const Term& b) {
  return apply(ir::Op::maximum, {a, b});
}
inline Expr minimum(const Term& a, const Term& b) {
  return apply(ir::Op::minimum, {a, b});
}
inline Expr where(const Expr& condition, const Term& yes, const Term& no) {
  return apply(ir::Op::where, {condition, yes, no});
}

Expr cast(const Expr& x, DType dtype);
/// A reduction whose result has the operand's dtype, as ONNX has it.
Expr reduce(ir::Op op, const Expr& x, const Axes& axes, bool keepdims);
Expr mean(const Expr& x, const Axes& axes, bool keepdims);
Expr reshape(const Expr& x, const std::vector<std::int64_t>& shape);
Expr broadcast_to(const Expr& x, const std::vector<std::int64_t>& shape);
Expr permute(const Expr& x, std::vector<std::int64_t> axes);
Expr slice(const Expr& x, const std::vector<ir::Range>& ranges);
Expr concat(const std::vector<Expr>& tensors, std::int64_t axis);
/// 0, 1, 2, … along an axis of the shape.
Expr count_along(ir::Graph& graph, const std::vector<std::int64_t>& shape, std::int64_t axis,
                 DType dtype = DType::int64);
Expr constant(ir::Graph& graph, DType dtype, double value);

/// x with axes of length 1 put in, at these positions of the result.
Expr unsqueeze(const Expr& x, std::vector<std::int64_t> axes);
/// The shape of x, with the axis made 1 long.
std::vector<std::int64_t> with_length(const Expr& x, std::int64_t axis, std::int64_t length);
Expr log_softmax(const Expr& x, std::int64_t axis);

}  // namespace sinter::testing::onnx
