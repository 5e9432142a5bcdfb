#include "tests/support/error_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/evaluate_typed.h"
#include "tests/support/compare.h"

namespace sinter::testing {
namespace {

using ir::Exact;
using ir::Family;
using ir::Graph;
using ir::Op;
using ir::Value;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// How far two results are apart; infinite where they differ in class, or as truth values.
double distance(const Exact& a, const Exact& b, std::size_t i) {
  if (is_bool(a.dtype)) return a.wholes[i] == b.wholes[i] ? 0 : infinity;
  if (!is_float(a.dtype))
    return std::fabs(static_cast<double>(a.wholes[i]) - static_cast<double>(b.wholes[i]));
  const long double x = a.reals[i], y = b.reals[i];
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  return std::isfinite(x) && std::isfinite(y) ? static_cast<double>(std::fabs(x - y)) : infinity;
}

/// Another value that an element may have, given its index and error.
struct Candidate {
  std::function<long double(std::size_t i, long double value, double error)> real;
  std::function<std::int64_t(std::size_t i, std::int64_t value, double error)> whole;
};

/// The sum as whole-number operations have it: wrapped.
std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Shifted by a part of the error; the sign of a NaN is anyone's guess.
template <class Part>
Candidate shifted(Part part) {
  return {[part](std::size_t i, long double v, double e) {
            if (std::isnan(v)) return -v;
            return std::isinf(e) ? v : v + part(i) * e;
          },
          [part](std::size_t i, std::int64_t v, double e) {
            return std::isinf(e) ? v : wrapped_sum(v, ir::saturate(int64, part(i) * e));
          }};
}

Candidate shifted_by(double part) {
  return shifted([part](std::size_t) { return part; });
}

/// Where nothing is known of a value, it may be anything.
Candidate unknown(long double real, std::int64_t step) {
  return {[real](std::size_t, long double v, double e) { return std::isinf(e) ? real : v; },
          [step](std::size_t, std::int64_t v, double e) { return std::isinf(e) ? wrapped_sum(v, step) : v; }};
}

const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all{
      shifted_by(1),
      shifted_by(-1),
      shifted([](std::size_t i) { return i % 2 ? 1 : -1; }),
      shifted([](std::size_t i) { return i % 2 ? -1 : 1; }),
      // The whole number within reach: poles, ends of domains, and exponents that decide whether there is a
      // value.
      {[](std::size_t, long double v, double e) {
         return std::isfinite(v) && e >= std::fabs(v - std::nearbyint(v)) ? std::nearbyint(v) : v;
       },
       [](std::size_t, std::int64_t v, double) { return v; }},
      unknown(std::numeric_limits<long double>::quiet_NaN(), 1),
      unknown(infinity, 1),
      unknown(-infinity, -1),
      unknown(0.5L, 1),
  };
  return all;
}

class BoundEvaluator {
 public:
  BoundEvaluator(const Graph& graph, std::span<const ir::Array> inputs) : g_(graph), values_(graph.size()) {
    ir::check_inputs(graph, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Bounded& input = values_[graph.inputs()[i].id];
      input.value = Exact(inputs[i]);
      input.error.assign(static_cast<std::size_t>(input.value.elements()), 0);
    }
  }

  std::vector<Bounded> run() {
    for (std::uint32_t id = 0; id < g_.size(); ++id)
      if (g_.op(Value{id}) != Op::input) evaluate(Value{id});
    std::vector<Bounded> outputs;
    for (const ir::Output& output : g_.outputs()) outputs.push_back(values_[output.value.id]);
    return outputs;
  }

 private:
  void evaluate(Value node) {
    std::vector<const Exact*> x;
    for (Value v : g_.operands(node)) x.push_back(&values_[v.id].value);
    Bounded& y = values_[node.id];
    y.value = ir::evaluate_reference_node(g_, node, x);
    y.error.assign(static_cast<std::size_t>(y.value.elements()), 0);
    const Op op = g_.op(node);
    const bool folds = op == Op::sum || op == Op::prod || op == Op::matmul || ir::is_scatter(op);
    if (!folds || !is_float(y.value.dtype))
      for (std::size_t k = 0; k < x.size(); ++k) add_influence(node, x, k, y);
    else if (op == Op::prod)
      add_product(node, x, y);
    else
      add_sum(node, x, y);
    if (ir::is_elementwise(op) && ir::elementwise_info(op).rule == ir::DTypeRule::compare)
      add_ties(node, x, y);
    if (is_float(y.value.dtype)) add_rounding(node, y);
  }

  /// Values that their errors may make equal compare either way, which the ends of the errors alone do not
  /// show.
  void add_ties(Value node, const std::vector<const Exact*>& x, Bounded& y) const {
    if (!is_float(x[0]->dtype)) return;
    for (std::size_t i = 0; i < y.error.size(); ++i) {
      long double values[2], error = 0;
      for (std::size_t k = 0; k < 2; ++k) {
        const std::size_t at = x[k]->shape.empty() ? 0 : i;
        values[k] = x[k]->reals[at];
        error += values_[g_.operands(node)[k].id].error[at];
      }
      if (error > 0 && std::fabs(values[0] - values[1]) <= error) y.error[i] = infinity;
    }
  }

  bool is_exact(Value v) const {
    const auto nan = [](long double x) { return std::isnan(x); };
    return std::ranges::all_of(values_[v.id].error, [](double e) { return e == 0; }) &&
           std::ranges::none_of(values_[v.id].value.reals, nan);
  }

  /// How far each result is from y when operand k, wherever it stands, is the candidate.
  std::vector<double> influence(Value node, std::vector<const Exact*> x, std::size_t k,
                                const Candidate& candidate, const Exact& y) const {
    const std::vector<double>& error = values_[g_.operands(node)[k].id].error;
    Exact other = *x[k];
    for (std::size_t i = 0; i < other.reals.size(); ++i)
      if (error[i] != 0 || std::isnan(other.reals[i]))
        other.reals[i] = candidate.real(i, other.reals[i], error[i]);
    for (std::size_t i = 0; i < other.wholes.size(); ++i)
      if (error[i] != 0)
        other.wholes[i] = ir::wrap(other.dtype, candidate.whole(i, other.wholes[i], error[i]));
    for (std::size_t j = 0; j < x.size(); ++j)
      if (g_.operands(node)[j] == g_.operands(node)[k]) x[j] = &other;
    const Exact result = ir::evaluate_reference_node(g_, node, x);
    std::vector<double> distances(error.empty() ? 0 : static_cast<std::size_t>(y.elements()));
    for (std::size_t i = 0; i < distances.size(); ++i) distances[i] = distance(result, y, i);
    return distances;
  }

  void add_influence(Value node, const std::vector<const Exact*>& x, std::size_t k, Bounded& y) const {
    const std::span<const Value> operands = g_.operands(node);
    const bool seen = std::ranges::find(operands.first(k), operands[k]) != operands.first(k).end();
    if (seen || is_exact(operands[k])) return;
    std::vector<double> most(y.error.size(), 0);
    auto include = [&](std::vector<double>& most, const Candidate& candidate) {
      const std::vector<double> distances = influence(node, x, k, candidate, y.value);
      for (std::size_t i = 0; i < distances.size(); ++i) most[i] = std::max(most[i], distances[i]);
    };
    for (const Candidate& candidate : candidates()) include(most, candidate);
    const Op op = g_.op(node);
    if (ir::is_elementwise(op) && !ir::elementwise_info(op).is(ir::Flag::monotone)) {
      std::vector<double> ends(most.size(), 0), halves(most.size(), 0);
      for (double part : {1.0, -1.0}) include(ends, shifted_by(part));
      for (double part : {0.5, -0.5}) include(halves, shifted_by(part));
      // Where the ends say nothing about what lies between (a pole, a jump, a wave), nothing is known.
      for (std::size_t i = 0; i < most.size(); ++i) {
        const double error = values_[g_.operands(node)[k].id].error[x[k]->shape.empty() ? 0 : i];
        const double high = std::max(ends[i], 2 * halves[i]), low = std::min(ends[i], 2 * halves[i]);
        const bool waves = error > 1 && !ir::elementwise_info(op).is(ir::Flag::exact);
        if (low < 0.5 * high || waves) most[i] = infinity;
      }
    }
    for (std::size_t i = 0; i < most.size(); ++i) y.error[i] += most[i];
  }

  template <class F>
  static Exact mapped(const Exact& x, F f) {
    Exact y = x;
    for (std::size_t i = 0; i < y.reals.size(); ++i) y.reals[i] = f(y.reals[i], i);
    return y;
  }

  /// Sums and matrix products: the operands' errors as they are weighed, and c * eps * log2(n) * sum of
  /// magnitudes.
  void add_sum(Value node, const std::vector<const Exact*>& x, Bounded& y) const {
    const Op op = g_.op(node);
    auto magnitude = [](long double v, std::size_t) { return std::isfinite(v) ? std::fabs(v) : 0; };
    std::vector<Exact> sizes;
    std::vector<const Exact*> operands;
    for (const Exact* operand : x) sizes.push_back(mapped(*operand, magnitude));
    for (const Exact& size : sizes) operands.push_back(&size);
    const Exact total = ir::evaluate_reference_node(g_, node, operands);
    const std::int64_t terms = g_.op(node) == Op::matmul ? x[0]->shape.back() : x[0]->elements();
    for (std::size_t i = 0; i < y.error.size(); ++i)
      y.error[i] += reduction_bound(y.value.dtype, terms, static_cast<double>(total.reals[i]), 2);
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (ir::is_scatter(op) && k > 0) {  // an index
        add_influence(node, x, k, y);
        continue;
      }
      const std::vector<double>& error = values_[g_.operands(node)[k].id].error;
      const Exact errors = mapped(*x[k], [&](long double, std::size_t i) { return error[i]; });
      std::vector<const Exact*> weighed = operands;
      weighed[k] = &errors;
      const Exact sum = ir::evaluate_reference_node(g_, node, weighed);
      // 0 * infinity: a factor of which nothing is known.
      for (std::size_t i = 0; i < y.error.size(); ++i)
        y.error[i] += std::isnan(sum.reals[i]) ? infinity : static_cast<double>(sum.reals[i]);
    }
    for (std::size_t i = 0; i < y.error.size(); ++i)
      if (std::isfinite(y.value.reals[i]) && static_cast<double>(total.reals[i]) >= largest(y.value.dtype))
        y.error[i] = infinity;
  }

  /// Products: relative errors add up; partial products that could over- or underflow decide nothing.
  void add_product(Value node, const std::vector<const Exact*>& x, Bounded& y) const {
    const std::vector<double>& error = values_[g_.operands(node)[0].id].error;
    const double eps = static_cast<double>(ulp(y.value.dtype, 1));
    auto evaluate = [&](auto f) {
      const Exact other = mapped(*x[0], f);
      const Exact* operand = &other;
      return ir::evaluate_reference_node(g_, node, {&operand, 1});
    };
    const Exact up =
        evaluate([&](long double v, std::size_t i) { return std::fabs(v) * (1 + eps) + error[i]; });
    const Exact size = evaluate([&](long double v, std::size_t) { return std::fabs(v); });
    const Exact high = evaluate([](long double v, std::size_t) { return std::max(std::fabs(v), 1.0L); });
    const Exact low = evaluate([](long double v, std::size_t) { return std::min(std::fabs(v), 1.0L); });
    const long double least = std::ldexp(1.0L, y.value.dtype == f64   ? -1022
                                               : y.value.dtype == f16 ? -14
                                                                      : -126);
    for (std::size_t i = 0; i < y.error.size(); ++i) {
      const bool safe = high.reals[i] < largest(y.value.dtype) && low.reals[i] > least;
      y.error[i] = safe ? distance(up, size, i) : infinity;
    }
  }

  static double largest(DType t) {
    return t == f64    ? std::numeric_limits<double>::max()
           : t == f16  ? 65504
           : t == bf16 ? 0x1.fep127
                       : 0x1.fffffep127;
  }

  void add_rounding(Value node, Bounded& y) const {
    const Op op = g_.op(node);
    const DType t = y.value.dtype;
    double ulps = 1;
    if (ir::is_movement(op) || ir::is_gather(op) || ir::is_generator(op)) ulps = 0;
    if (ir::is_elementwise(op) && !ir::elementwise_info(op).is(ir::Flag::exact)) ulps = 6;
    for (std::size_t i = 0; i < y.error.size(); ++i) {
      const long double value = y.value.reals[i];
      if (!std::isfinite(value)) continue;
      const double size = static_cast<double>(std::fabs(value)) + y.error[i];
      if (ulps != 0 && std::isfinite(size)) y.error[i] += ulps * static_cast<double>(ulp(t, size));
      if (ulps != 0 && is_16bit_float(t)) y.error[i] += 0x1p-126;  // may be flushed
      if (!(size < largest(t) * (1 - static_cast<double>(ulp(t, 1))))) y.error[i] = infinity;
    }
  }

  const Graph& g_;
  std::vector<Bounded> values_;
};

}  // namespace

std::vector<Bounded> evaluate_bounded(const Graph& graph, std::span<const ir::Array> inputs) {
  return BoundEvaluator(graph, inputs).run();
}

std::string mismatch(const std::vector<ir::Array>& got, const std::vector<Bounded>& expected) {
  if (got.size() != expected.size())
    return fmt::format("got {} outputs, expected {}", got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::string text = mismatch_within(got[i], expected[i].value, expected[i].error); !text.empty())
      return fmt::format("output {} {}", i, text);
  return "";
}

double decided(const std::vector<Bounded>& outputs) {
  double all = 0, finite = 0;
  for (const Bounded& output : outputs) {
    all += static_cast<double>(output.error.size());
    finite +=
        static_cast<double>(std::ranges::count_if(output.error, [](double e) { return std::isfinite(e); }));
  }
  return all == 0 ? 1 : finite / all;
}

}  // namespace sinter::testing
