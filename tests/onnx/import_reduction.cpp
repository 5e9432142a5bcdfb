// Reductions, and what is made of them: softmax, normalisations, losses.
#include "tests/onnx/call.h"

namespace sinter::testing::onnx {
namespace {

using ir::Op;
using Folder = std::function<Expr(const Expr& x, const Axes& axes, bool keepdims)>;

/// An operator Reduce…, whose axes are an attribute or, in newer versions, operand 1.
Handler reduction(Folder fold) {
  return [fold = std::move(fold)](Call& c) -> std::vector<Expr> {
    Axes axes = c.axes(1, "axes");
    if (axes && axes->empty()) axes.reset();
    if (!axes && c.integer("noop_with_empty_axes", 0) != 0) return {c.in(0)};
    return {fold(c.in(0), axes, c.integer("keepdims", 1) != 0)};
  };
}

Expr sum(const Expr& x, const Axes& axes, bool keepdims) {
  return reduce(Op::sum, x, axes, keepdims);
}

Expr log_sum_exp(const Expr& x, const Axes& axes, bool keepdims) {
  const Expr greatest = reduce(Op::max, x, axes, true);
  const Expr total = log(sum(exp(x - greatest), axes, true)) + greatest;
  return reshape(total, sum(x, axes, keepdims).shape());
}

/// argmax and argmin; the last of equals is the first from behind.
Handler arg(Op op) {
  return [op](Call& c) -> std::vector<Expr> {
    const std::int64_t axis = c.integer("axis", 0);
    const bool last = c.integer("select_last_index", 0) != 0;
    ir::Graph& g = c.graph();
    Expr x = c.in(0);
    if (last) x.value = ir::flip(g, x.value, Axes{{axis}});
    const Expr index{&g, ir::reduce(g, op, x.value, Axes{{axis}}, c.integer("keepdims", 1) != 0)};
    return {last ? static_cast<int>(x.length(axis) - 1) - index : index};
  };
}

std::vector<Expr> import_softmax(Call& c) {
  const std::int64_t axis = c.integer("axis", -1);
  const Expr x = c.in(0), e = exp(x - reduce(Op::max, x, Axes{{axis}}, true));
  return {e / sum(e, Axes{{axis}}, true)};
}

std::vector<Expr> import_log_softmax(Call& c) {
  return {log_softmax(c.in(0), c.integer("axis", -1))};
}

/// 1 at the first greatest along the axis, 0 elsewhere.
std::vector<Expr> import_hardmax(Call& c) {
  const std::int64_t axis = c.integer("axis", -1);
  const Expr x = c.in(0);
  const Expr greatest{x.graph, ir::reduce(*x.graph, Op::argmax, x.value, Axes{{axis}}, true)};
  const Expr position =
      count_along(*x.graph, x.shape(), ir::normalize_axis(axis, static_cast<int>(x.rank()), "Hardmax"));
  return {cast(position == greatest, x.dtype())};
}

struct Moments {
  Expr mean, variance;
};

Moments moments(const Expr& x, const Axes& axes) {
  const Expr average = mean(x, axes, true), centred = x - average;
  return {average, mean(centred * centred, axes, true)};
}

/// From an axis to the last, or between two.
std::vector<std::int64_t> axes_between(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = first; axis < last; ++axis) axes.push_back(axis);
  return axes;
}

std::vector<Expr> import_layer_normalization(Call& c) {
  const Expr x = c.in(0);
  const std::int64_t axis =
      ir::normalize_axis(c.integer("axis", -1), static_cast<int>(x.rank()), "LayerNormalization");
  const Moments m = moments(x, axes_between(axis, x.rank()));
  const Expr scale = apply(Op::rsqrt, {m.variance + c.real("epsilon", 1e-5)});
  Expr y = (x - m.mean) * scale * c.in(1);
  if (c.has(2)) y = y + c.in(2);
  return {y, m.mean, scale};
}

/// A vector with one number per channel, laid along axis 1 of x.
Expr per_channel(const Expr& vector, const Expr& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.rank()), 1);
  shape.at(1) = vector.elements();
  return reshape(vector, shape);
}

std::vector<Expr> import_batch_normalization(Call& c) {
  const Expr x = c.in(0);
  const double epsilon = c.real("epsilon", 1e-5), momentum = c.real("momentum", 0.9);
  Expr average = c.in(3), variance = c.in(4);
  std::vector<Expr> running;
  if (c.integer("training_mode", 0) != 0) {
    std::vector<std::int64_t> axes = axes_between(2, x.rank());
    axes.push_back(0);
    const Moments m = moments(x, axes);
    running = {average * momentum + reshape(m.mean, average.shape()) * (1 - momentum),
               variance * momentum + reshape(m.variance, variance.shape()) * (1 - momentum)};
    average = m.mean;
    variance = m.variance;
  }
  const Expr scale = per_channel(c.in(1), x) / sqrt(per_channel(variance, x) + epsilon);
  std::vector<Expr> results{(x - per_channel(average, x)) * scale + per_channel(c.in(2), x)};
  results.insert(results.end(), running.begin(), running.end());
  return results;
}

std::vector<Expr> import_instance_normalization(Call& c) {
  const Expr x = c.in(0);
  const Moments m = moments(x, axes_between(2, x.rank()));
  const Expr scale = per_channel(c.in(1), x) / sqrt(m.variance + c.real("epsilon", 1e-5));
  return {(x - m.mean) * scale + per_channel(c.in(2), x)};
}

std::vector<Expr> import_mean_variance_normalization(Call& c) {
  const Expr x = c.in(0);
  const Moments m = moments(x, c.list("axes", {0, 2, 3}));
  return {(x - m.mean) / (sqrt(m.variance) + 1e-9)};
}

/// -log_prob at each target, weighted by its class; `ignore_index` weighs nothing.
Expr negative_log_likelihood(Call& c, const Expr& log_prob) {
  Expr target = c.in(1);
  Expr counts = broadcast_to(constant(c.graph(), log_prob.dtype(), 1), target.shape());
  if (c.has_attribute("ignore_index")) {
    const int ignored = static_cast<int>(c.integer("ignore_index", 0));
    counts = where(target == ignored, 0, counts);
    target = where(target == ignored, 0, target);
  }
  ir::Graph& g = c.graph();
  if (c.has(2)) counts = counts * Expr{&g, ir::take(g, c.in(2).value, target.value, 0)};
  const Expr index = unsqueeze(target, {1});
  const Expr picked = reshape({&g, ir::take_along_axis(g, log_prob.value, index.value, 1)}, target.shape());
  const Expr loss = -picked * counts;
  const std::string reduction = c.text("reduction", "mean");
  if (reduction == "none") return loss;
  const Expr total = sum(loss, std::nullopt, false);
  return reduction == "sum" ? total : total / sum(counts, std::nullopt, false);
}

std::vector<Expr> import_nll_loss(Call& c) {
  return {negative_log_likelihood(c, c.in(0))};
}

std::vector<Expr> import_softmax_cross_entropy(Call& c) {
  const Expr log_prob = log_softmax(c.in(0), 1);
  return {negative_log_likelihood(c, log_prob), log_prob};
}

Folder plain(Op op) {
  return [op](const Expr& x, const Axes& axes, bool keepdims) { return reduce(op, x, axes, keepdims); };
}

}  // namespace

Handlers reduction_handlers() {
  return {
      {"ArgMax", arg(Op::argmax)},
      {"ArgMin", arg(Op::argmin)},
      {"ReduceMax", reduction(plain(Op::max))},
      {"ReduceMin", reduction(plain(Op::min))},
      {"ReduceSum", reduction(plain(Op::sum))},
      {"ReduceProd", reduction(plain(Op::prod))},
      {"ReduceMean", reduction(mean)},
      {"ReduceL1", reduction([](auto& x, auto& axes, bool keep) { return sum(abs(x), axes, keep); })},
      {"ReduceL2", reduction([](auto& x, auto& axes, bool keep) { return sqrt(sum(x * x, axes, keep)); })},
      {"ReduceSumSquare", reduction([](auto& x, auto& axes, bool keep) { return sum(x * x, axes, keep); })},
      {"ReduceLogSum", reduction([](auto& x, auto& axes, bool keep) { return log(sum(x, axes, keep)); })},
      {"ReduceLogSumExp", reduction(log_sum_exp)},
      {"Softmax", import_softmax},
      {"LogSoftmax", import_log_softmax},
      {"Hardmax", import_hardmax},
      {"LayerNormalization", import_layer_normalization},
      {"BatchNormalization", import_batch_normalization},
      {"InstanceNormalization", import_instance_normalization},
      {"MeanVarianceNormalization", import_mean_variance_normalization},
      {"NegativeLogLikelihoodLoss", import_nll_loss},
      {"SoftmaxCrossEntropyLoss", import_softmax_cross_entropy},
  };
}

}  // namespace sinter::testing::onnx
