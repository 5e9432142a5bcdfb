// Formulas over the operations of functions.h, as plain functions: a compiled function fuses them as it fuses
// yours.
//
// Reductions among them take floats of 16 bits to f32, and round once, in the result. Whole numbers are taken
// as f32. `axis` counts from the last axis when it is negative. Errors name the operation inside the formula
// that failed, and the line of the call.
#pragma once

#include <cstdint>
#include <optional>

#include "sinter/functions.h"

namespace sinter {

Tensor square(Operand x);
/// max(x, 0); NaN stays.
Tensor relu(Operand x);
Tensor leaky_relu(Operand x, double slope = 0.01);
/// x where x > 0, else alpha * (e^x - 1).
Tensor elu(Operand x, double alpha = 1.0);
/// 1 / (1 + e^-x), without overflow.
Tensor sigmoid(Operand x);
/// x * sigmoid(x), also called swish.
Tensor silu(Operand x);
/// silu(gate) * x (Shazeer 2020).
Tensor swiglu(Operand gate, Operand x);
/// log(1 + e^x), without overflow.
Tensor softplus(Operand x);
/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016).
Tensor gelu(Operand x);
/// x Phi(x) with the normal distribution's Phi, by the error function.
Tensor gelu_erf(Operand x);
/// min(max(x, low), high): NaN stays, and low > high gives high. A bound left out does not bind.
Tensor clamp(Operand x, std::optional<Operand> low, std::optional<Operand> high);

struct MomentOptions {
  Axes axes = {};
  bool keepdims = false;
  double correction = 0;  // var and std divide by n - correction
};
/// The mean; of whole numbers in f32, whatever their sum, and of nothing NaN.
Tensor mean(Operand x, const ReduceOptions& options = {});
/// The mean square distance from the mean, in two passes.
Tensor var(Operand x, const MomentOptions& options = {});
/// The square root of var. Where namespace sinter is used as a whole, its name is that of a namespace, too:
/// write sinter::std.
Tensor std(Operand x, const MomentOptions& options = {});

/// e^x over its sum along an axis, shifted by the maximum. A row of -inf only gives NaN.
Tensor softmax(Operand x, std::int64_t axis = -1);
/// The logarithm of softmax, without its loss of small values.
Tensor log_softmax(Operand x, std::int64_t axis = -1);
/// log(sum(e^x)) shifted by the maximum; -inf of a row of -inf only, +inf where a +inf is.
Tensor logsumexp(Operand x, const ReduceOptions& options = {});
/// The loss -log_softmax(logits)[label] of every row, for whole-number labels of logits' shape without its
/// last axis; take the mean for a training loss.
Tensor cross_entropy(Operand logits, Operand labels);

/// weight and bias may be left out; they broadcast against x.
struct LayerNormOptions {
  Tensor weight = {};
  Tensor bias = {};
  double eps = 1e-5;
  Axes axes = -1;
};
/// (x - mean) / sqrt(var + eps) * weight + bias (Ba, Kiros and Hinton 2016).
Tensor layer_norm(Operand x, const LayerNormOptions& options = {});
struct RmsNormOptions {
  Tensor weight = {};
  double eps = 1e-6;
  Axes axes = -1;
};
/// x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich 2019).
Tensor rms_norm(Operand x, const RmsNormOptions& options = {});

/// x times the transpose of weight [out, in], plus bias [out] if there is one.
Tensor linear(Operand x, Operand weight, const Tensor& bias = {});

}  // namespace sinter
