#include "sinter/composites.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/dispatch.h"
#include "frontend/errors.h"
#include "frontend/tensor_impl.h"
#include "ir/build.h"

namespace sinter {
namespace {

using frontend::AtLine;

/// The dtype in which reductions of a formula go on: 16-bit floats and whole numbers as f32.
DType working_dtype(DType t) {
  return is_float(t) && !is_16bit_float(t) ? t : DType::f32;
}

/// The dtype of a formula's result: floats keep theirs, whole numbers give f32.
DType result_dtype(DType t) {
  return is_float(t) ? t : DType::f32;
}

/// How many elements lie along the axes: a number, or a value of the program where lengths are symbols.
Operand count_along(const Tensor& x, const Axes& axes, bool keepdims) {
  const ir::Shape& shape = frontend::impl_of(x).shape();
  ir::Dim count(1);
  if (axes.is_all())
    count = shape.elements();
  else
    for (const std::int64_t axis : *axes.given())
      count = count * shape[ir::normalize_axis(axis, shape.rank(), "mean of " + frontend::describe(x))];
  if (count.is_constant()) return count.value();
  return frontend::dispatch({x}, [&](ir::Graph& g, std::span<const ir::Operand> v, const ir::Where& w) {
    const ir::Value one = g.constant(ir::Scalar::from_whole(DType::int64, 1), w);
    const ir::Value ones = ir::broadcast_to(g, one, g.shape(std::get<ir::Value>(v[0])), w);
    return ir::reduce(g, ir::Op::sum, ones, axes.given(), keepdims, {}, w);
  });
}

/// The sum over the axes divided by their number of elements less `correction`.
Tensor mean_of(const Tensor& x, const Axes& axes, bool keepdims, double correction) {
  // The sum names a wrong axis before the count does, as every reduction would.
  const Tensor total = sum(x, {.axes = axes, .keepdims = keepdims});
  const Operand count = count_along(x, axes, keepdims);
  if (correction == 0) return total / count;
  if (const auto* number = std::get_if<Operand::Number>(&count.value()))
    return total / std::max(static_cast<double>(std::get<std::int64_t>(*number)) - correction, 0.0);
  return total / maximum(count - correction, 0.0);
}

Tensor working(const Operand& x) {
  return astype(x, working_dtype(x.dtype()));
}
Tensor as_float(const Operand& x) {
  return astype(x, result_dtype(x.dtype()));
}

}  // namespace

Tensor square(Operand x) {
  const AtLine line(x.where());
  return x * x;
}

Tensor relu(Operand x) {
  const AtLine line(x.where());
  return maximum(x, 0);
}

Tensor leaky_relu(Operand x, double slope) {
  const AtLine line(x.where());
  return where(x > 0, x, slope * x);
}

Tensor elu(Operand x, double alpha) {
  const AtLine line(x.where());
  return where(x > 0, x, alpha * expm1(x));
}

Tensor sigmoid(Operand x) {
  const AtLine line(x.where());
  const Tensor z = as_float(x);
  // bf16 has the range of f32, and may flush what exp(-z) would lose by overflowing.
  if (z.dtype() == bf16) return 1.0 / (1.0 + exp(-z));
  const Tensor e = exp(-abs(z));
  return where(z < 0.0, e, 1.0) / (1.0 + e);
}

Tensor silu(Operand x) {
  const AtLine line(x.where());
  return x * sigmoid(x);
}

Tensor swiglu(Operand gate, Operand x) {
  const AtLine line(gate.where());
  return silu(gate) * x;
}

Tensor softplus(Operand x) {
  const AtLine line(x.where());
  const Tensor z = as_float(x);
  return maximum(z, 0.0) + log1p(exp(-abs(z)));
}

Tensor gelu(Operand x) {
  const AtLine line(x.where());
  const double scale = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1.0 + tanh(scale * (x + 0.044715 * x * x * x)));
}

Tensor gelu_erf(Operand x) {
  const AtLine line(x.where());
  return 0.5 * x * (1.0 + erf(x * (1 / std::numbers::sqrt2)));
}

Tensor clamp(Operand x, std::optional<Operand> low, std::optional<Operand> high) {
  const AtLine line(x.where());
  if (low) x = maximum(x, *low);
  if (high) x = minimum(x, *high);
  return +x;
}

Tensor mean(Operand x, const ReduceOptions& options) {
  const AtLine line(x.where());
  // Whole numbers add up without rounding in the int64 of their sum, which int64 itself could overflow.
  const bool may_overflow = x.dtype() == int64;
  const Tensor total_in = is_float(x.dtype()) ? working(x) : may_overflow ? astype(x, f64) : +x;
  return astype(mean_of(total_in, options.axes, options.keepdims, 0), result_dtype(x.dtype()));
}

Tensor var(Operand x, const MomentOptions& options) {
  const AtLine line(x.where());
  const Tensor z = working(x);
  const Tensor distance = z - mean_of(z, options.axes, true, 0);
  const Tensor result = mean_of(distance * distance, options.axes, options.keepdims, options.correction);
  return astype(result, result_dtype(x.dtype()));
}

Tensor std(Operand x, const MomentOptions& options) {
  const AtLine line(x.where());
  return astype(sqrt(var(working(x), options)), result_dtype(x.dtype()));
}

Tensor softmax(Operand x, std::int64_t axis) {
  const AtLine line(x.where());
  const Tensor z = working(x);
  const Tensor e = exp(z - max(z, {.axes = axis, .keepdims = true}));
  return astype(e / sum(e, {.axes = axis, .keepdims = true}), result_dtype(x.dtype()));
}

Tensor log_softmax(Operand x, std::int64_t axis) {
  const AtLine line(x.where());
  const Tensor z = working(x);
  const Tensor shifted = z - max(z, {.axes = axis, .keepdims = true});
  const Tensor result = shifted - log(sum(exp(shifted), {.axes = axis, .keepdims = true}));
  return astype(result, result_dtype(x.dtype()));
}

Tensor logsumexp(Operand x, const ReduceOptions& options) {
  const AtLine line(x.where());
  const Tensor z = working(x);
  const Tensor top = max(z, {.axes = options.axes, .keepdims = true});
  const Tensor total = sum(exp(z - top), {.axes = options.axes, .keepdims = true});
  // An infinite maximum is the answer; the shift would make NaN of it.
  const Tensor result = where(isinf(top), top, top + log(total));
  return astype(options.keepdims ? result : squeeze(result, options.axes), result_dtype(x.dtype()));
}

Tensor cross_entropy(Operand logits, Operand labels) {
  const AtLine line(logits.where());
  const Tensor z = working(logits);
  // Both terms are taken from the greatest logit, so that large logits do not cost the loss its digits.
  const Tensor top = max(z, {.axes = -1, .keepdims = true});
  const Tensor total = sum(exp(z - top), {.axes = -1, .keepdims = true});
  const Tensor chosen = take_along_axis(z, expand_dims(labels, -1), -1) - top;
  const Tensor loss = log(total) - chosen;
  return astype(squeeze(loss, -1), result_dtype(logits.dtype()));
}

Tensor layer_norm(Operand x, const LayerNormOptions& options) {
  const AtLine line(x.where());
  const Tensor z = working(x);
  const Tensor distance = z - mean_of(z, options.axes, true, 0);
  const Tensor variance = mean_of(distance * distance, options.axes, true, 0);
  Tensor y = distance / sqrt(variance + options.eps);
  if (options.weight.defined()) y = y * options.weight;
  if (options.bias.defined()) y = y + options.bias;
  return astype(y, result_dtype(x.dtype()));
}

Tensor rms_norm(Operand x, const RmsNormOptions& options) {
  const AtLine line(x.where());
  const Tensor z = working(x);
  Tensor y = z / sqrt(mean_of(z * z, options.axes, true, 0) + options.eps);
  if (options.weight.defined()) y = y * options.weight;
  return astype(y, result_dtype(x.dtype()));
}

Tensor linear(Operand x, Operand weight, const Tensor& bias) {
  const AtLine line(x.where());
  const Tensor y = matmul(x, matrix_transpose(weight));
  return bias.defined() ? y + bias : y;
}

}  // namespace sinter
