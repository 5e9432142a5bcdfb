// Operators that work element by element. Those with a twin in the op table are one row; the others are
// formulas.
#include <cmath>
#include <limits>

#include "tests/onnx/call.h"

namespace sinter::testing::onnx {
namespace {

using ir::Op;

Handler unary(Op op) {
  return [op](Call& c) { return std::vector{apply(op, {c.in(0)})}; };
}

Handler binary(Op op) {
  return [op](Call& c) { return std::vector{apply(op, {c.in(0), c.in(1)})}; };
}

/// A formula of one operand.
Handler formula(std::function<Expr(Call&, const Expr& x)> f) {
  return [f = std::move(f)](Call& c) { return std::vector{f(c, c.in(0))}; };
}

/// Any number of operands, folded from the left.
Handler variadic(Op op) {
  return [op](Call& c) {
    Expr result = c.in(0);
    for (std::size_t i = 1; i < c.arity(); ++i) result = apply(op, {result, c.in(i)});
    return std::vector{result};
  };
}

std::vector<Expr> import_mean(Call& c) {
  return {variadic(Op::add)(c)[0] * (1.0 / static_cast<double>(c.arity()))};
}

/// Whole numbers divide toward zero in ONNX, and give f32 in sinter.
std::vector<Expr> import_div(Call& c) {
  const Expr a = c.in(0), b = c.in(1);
  if (is_float(a.dtype())) return {a / b};
  const Expr quotient = apply(Op::floor_divide, {abs(a), abs(b)});
  return {apply(Op::sign, {a}) * apply(Op::sign, {b}) * quotient};
}

/// The sign of the divisor, or with fmod that of the dividend.
std::vector<Expr> import_mod(Call& c) {
  const Expr a = c.in(0), b = c.in(1);
  if (c.integer("fmod", 0) == 0) return {apply(Op::remainder, {a, b})};
  return {apply(Op::sign, {a}) * apply(Op::remainder, {abs(a), abs(b)})};
}

/// The result has the dtype of the base.
std::vector<Expr> import_pow(Call& c) {
  const Expr base = c.in(0);
  return {cast(apply(Op::pow, {base, c.in(1)}), base.dtype())};
}

std::vector<Expr> import_bit_shift(Call& c) {
  const bool left = c.text("direction", "LEFT") == "LEFT";
  return {apply(left ? Op::left_shift : Op::right_shift, {c.in(0), c.in(1)})};
}

std::vector<Expr> import_cast(Call& c) {
  return {cast(c.in(0), dtype_from_onnx(c.integer("to", 0)))};
}

std::vector<Expr> import_cast_like(Call& c) {
  return {cast(c.in(0), c.in(1).dtype())};
}

std::vector<Expr> import_clip(Call& c) {
  Expr x = c.in(0);
  if (c.has(1)) x = maximum(x, c.in(1));
  if (c.has(2)) x = minimum(x, c.in(2));
  return {x};
}

std::vector<Expr> import_is_inf(Call& c) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Expr x = c.in(0);
  const bool positive = c.integer("detect_positive", 1) != 0, negative = c.integer("detect_negative", 1) != 0;
  if (positive && negative) return {apply(Op::isinf, {x})};
  if (!positive && !negative) unsupported(c, "neither infinity asked for");
  return {x == (positive ? infinity : -infinity)};
}

/// A dropout that drops something draws from a generator that ONNX does not specify.
std::vector<Expr> import_dropout(Call& c) {
  const bool training = c.has(2) && c.number(2) != 0;
  const double ratio = c.has(1) ? c.number(1) : 0.5;
  if (training && ratio != 0) unsupported(c, "random numbers of an unspecified generator");
  const Expr x = c.in(0);
  return {x, broadcast_to(constant(c.graph(), DType::boolean, 1), x.shape())};
}

Expr relu(const Expr& x) {
  return maximum(x, 0.0);
}

Expr elu(const Expr& x, double alpha) {
  return where(x < 0.0, apply(Op::expm1, {x}) * alpha, x);
}

Expr softplus(const Expr& x) {
  return relu(x) + apply(Op::log1p, {exp(-abs(x))});
}

Expr sigmoid(const Expr& x) {
  return 1.0 / (1.0 + exp(-x));
}

Expr hard_sigmoid(const Expr& x, double alpha, double beta) {
  return minimum(maximum(x * alpha + beta, 0.0), 1.0);
}

Expr shrink(Call& c, const Expr& x) {
  const double lambda = c.real("lambd", 0.5), bias = c.real("bias", 0.0);
  return where(x < -lambda, x + bias, where(x > lambda, x - bias, 0.0));
}

Handlers activations() {
  return {
      {"Celu", formula([](Call& c, const Expr& x) {
         const double alpha = c.real("alpha", 1.0);
         return relu(x) + minimum(apply(Op::expm1, {x / alpha}) * alpha, 0.0);
       })},
      {"Elu", formula([](Call& c, const Expr& x) { return elu(x, c.real("alpha", 1.0)); })},
      {"HardSigmoid", formula([](Call& c, const Expr& x) {
         return hard_sigmoid(x, c.real("alpha", 0.2), c.real("beta", 0.5));
       })},
      {"HardSwish", formula([](Call&, const Expr& x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); })},
      {"LeakyRelu",
       formula([](Call& c, const Expr& x) { return where(x < 0.0, x * c.real("alpha", 0.01), x); })},
      {"PRelu", formula([](Call& c, const Expr& x) { return where(x < 0.0, x * c.in(1), x); })},
      {"Relu", formula([](Call&, const Expr& x) { return relu(x); })},
      {"Selu", formula([](Call& c, const Expr& x) {
         return elu(x, c.real("alpha", 1.67326319217681884765625)) *
                c.real("gamma", 1.05070102214813232421875);
       })},
      {"Shrink", formula(shrink)},
      {"Sigmoid", formula([](Call&, const Expr& x) { return sigmoid(x); })},
      {"Softplus", formula([](Call&, const Expr& x) { return softplus(x); })},
      {"Softsign", formula([](Call&, const Expr& x) { return x / (1.0 + abs(x)); })},
      {"ThresholdedRelu",
       formula([](Call& c, const Expr& x) { return where(x > c.real("alpha", 1.0), x, 0.0); })},
  };
}

}  // namespace

Handlers elementwise_handlers() {
  Handlers result{
      {"Abs", unary(Op::abs)},
      {"Acos", unary(Op::acos)},
      {"Acosh", unary(Op::acosh)},
      {"Asin", unary(Op::asin)},
      {"Asinh", unary(Op::asinh)},
      {"Atan", unary(Op::atan)},
      {"Atanh", unary(Op::atanh)},
      {"Ceil", unary(Op::ceil)},
      {"Cos", unary(Op::cos)},
      {"Cosh", unary(Op::cosh)},
      {"Erf", unary(Op::erf)},
      {"Exp", unary(Op::exp)},
      {"Floor", unary(Op::floor)},
      {"IsNaN", unary(Op::isnan)},
      {"Log", unary(Op::log)},
      {"Neg", unary(Op::neg)},
      {"Not", unary(Op::logical_not)},
      {"Reciprocal", unary(Op::reciprocal)},
      {"Round", unary(Op::round)},
      {"Sign", unary(Op::sign)},
      {"Sin", unary(Op::sin)},
      {"Sinh", unary(Op::sinh)},
      {"Sqrt", unary(Op::sqrt)},
      {"Tan", unary(Op::tan)},
      {"Tanh", unary(Op::tanh)},
      {"Add", binary(Op::add)},
      {"Sub", binary(Op::sub)},
      {"Mul", binary(Op::mul)},
      {"And", binary(Op::logical_and)},
      {"Or", binary(Op::logical_or)},
      {"Xor", binary(Op::logical_xor)},
      {"Equal", binary(Op::equal)},
      {"Less", binary(Op::less)},
      {"LessOrEqual", binary(Op::less_equal)},
      {"Greater", binary(Op::greater)},
      {"GreaterOrEqual", binary(Op::greater_equal)},
      {"Max", variadic(Op::maximum)},
      {"Min", variadic(Op::minimum)},
      {"Sum", variadic(Op::add)},
      {"Mean", import_mean},
      {"Div", import_div},
      {"Mod", import_mod},
      {"Pow", import_pow},
      {"BitShift", import_bit_shift},
      {"Cast", import_cast},
      {"CastLike", import_cast_like},
      {"Clip", import_clip},
      {"IsInf", import_is_inf},
      {"Dropout", import_dropout},
      {"Where", formula([](Call& c, const Expr& x) { return where(x, c.in(1), c.in(2)); })},
      {"Identity", formula([](Call&, const Expr& x) { return x; })},
  };
  result.merge(activations());
  return result;
}

}  // namespace sinter::testing::onnx
