// The op table held against itself: derivatives against finite differences, the whole-number column against
// the float column, flags against samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/evaluate_reference.h"
#include "ir/op.h"
#include "ir/parse.h"
#include "tests/catch.h"
#include "tests/support/arrays.h"

using namespace sinter;
using namespace sinter::ir;

namespace {

std::vector<Op> elementwise_ops() {
  std::vector<Op> ops;
  for (Op op : all_ops)
    if (is_elementwise(op)) ops.push_back(op);
  return ops;
}

const std::vector<long double> samples{-7.3L, -2.65L, -1.4L, -0.8L, -0.3L, 0.2L,
                                       0.45L, 0.7L,   1.3L,  2.2L,  3.7L,  9.1L};

bool same(long double a, long double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The derivative by operand `k` at these operands as its text says, for a gradient of 1.5.
long double derivative_by_text(Op op, std::size_t k, const std::string& text,
                               const std::vector<long double>& x) {
  const ElementwiseInfo& info = elementwise_info(op);
  Graph g;
  std::map<std::string, Value, std::less<>> names;
  std::vector<Operand> operands;
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < static_cast<std::size_t>(info.arity); ++i) {
    const DType t = info.rule == DTypeRule::select && i == 0 ? boolean : f64;
    const std::string name(1, static_cast<char>('a' + i));
    names[name] = g.input(name, t, {});
    operands.emplace_back(names[name]);
    inputs.emplace_back(t, std::vector<std::int64_t>{}).set(0, Scalar::from_real(t, x[i]));
  }
  names["g"] = g.input("g", f64, {});
  inputs.emplace_back(f64, std::vector<std::int64_t>{}).set(0, Scalar::from_real(f64, 1.5L));
  names["y"] = op == Op::cast ? std::get<Value>(operands[0]) : elementwise(g, op, operands);
  const Operand result = parse_expression(g, text, names);
  INFO(name(op) << " by operand " << k);
  if (const Literal* literal = std::get_if<Literal>(&result)) return to_scalar(*literal, f64).real();
  g.output(std::get<Value>(result));
  return evaluate_reference(g, inputs)[0].reals[0];
}

}  // namespace

TEST_CASE("names are found, unique, and documented") {
  std::set<std::string_view> names, api_names;
  for (Op op : all_ops) {
    CHECK(names.insert(name(op)).second);
    CHECK(api_names.insert(api_name(op)).second);
    CHECK(op_from_name(name(op)) == op);
    CHECK(op_from_name(api_name(op)) == op);
    CHECK_FALSE(doc(op).empty());
  }
  CHECK_FALSE(op_from_name("softmax"));
}

TEST_CASE("emitter texts name each operand and none beyond the arity") {
  for (Op op : elementwise_ops()) {
    const ElementwiseInfo& info = elementwise_info(op);
    INFO(name(op));
    if (op == Op::cast) continue;  // printed by the emitter itself, which knows both dtypes
    for (int i = 0; i < 4; ++i)
      CHECK((info.emit.find(fmt::format("${}", i)) != std::string_view::npos) == (i < info.arity));
  }
}

TEST_CASE("derivatives agree with finite differences") {
  for (Op op : elementwise_ops()) {
    const ElementwiseInfo& info = elementwise_info(op);
    const std::vector<std::string> texts = split(info.derivative);
    if (texts.empty()) continue;
    const auto arity = static_cast<std::size_t>(info.arity);
    REQUIRE(texts.size() == arity);
    int checked = 0;
    for (std::size_t i = 0; i < 3 * samples.size(); ++i) {
      std::vector<long double> x{samples[i % samples.size()], samples[(5 * i + 3 + i / 12) % samples.size()],
                                 samples[(7 * i + 1) % samples.size()]};
      if (info.rule == DTypeRule::select) x[0] = static_cast<long double>(i % 2);
      // As the evaluator gets them.
      for (long double& v : x) v = static_cast<double>(v);
      for (std::size_t k = info.rule == DTypeRule::select ? 1 : 0; k < arity; ++k) {
        const long double h = 1e-6L;
        std::vector<long double> up = x, down = x;
        up[k] += h;
        down[k] -= h;
        const auto f = [&](const std::vector<long double>& v) {
          return info.float_reference(v[0], v[1], v[2]);
        };
        const long double expected = (f(up) - f(down)) / (2 * h) * 1.5L;
        const long double right = (f(up) - f(x)) / h * 1.5L, left = (f(x) - f(down)) / h * 1.5L;
        if (!std::isfinite(expected) || std::fabs(right - left) > 0.1L) continue;  // a pole or a kink
        const long double got = derivative_by_text(op, k, texts[k], x);
        INFO(name(op) << " by operand " << k << " at " << x[0] << ", " << x[1] << ", " << x[2]);
        CHECK(static_cast<double>(got) == Approx(static_cast<double>(expected)).epsilon(1e-6).margin(1e-7));
        ++checked;
      }
    }
    INFO(name(op));
    CHECK(checked >= 5);
  }
}

TEST_CASE("on whole numbers both reference columns agree where both are defined") {
  for (Op op : elementwise_ops()) {
    const ElementwiseInfo& info = elementwise_info(op);
    const bool both = admits(info.rule, int64) && admits(info.rule, f64);
    if (!both || info.rule == DTypeRule::test) continue;
    for (std::int64_t a = -6; a <= 6; ++a)
      for (std::int64_t b = -6; b <= 6; ++b)
        for (std::int64_t c : {-3, 0, 5}) {
          const long double real = info.float_reference(
              static_cast<long double>(a), static_cast<long double>(b), static_cast<long double>(c));
          if (!std::isfinite(real) || real != std::trunc(real)) continue;
          INFO(name(op) << " of " << a << ", " << b << ", " << c);
          CHECK(static_cast<long double>(info.whole_reference(a, b, c, int64)) == real);
        }
  }
}

TEST_CASE("flags hold on samples and special values") {
  using Limits = std::numeric_limits<long double>;
  std::vector<long double> values = samples;
  for (long double v :
       {0.0L, -0.0L, 1.0L, -1.0L, 0.5L, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
    values.push_back(v);
  for (Op op : elementwise_ops()) {
    const ElementwiseInfo& info = elementwise_info(op);
    INFO(name(op));
    if (info.is(Flag::commutative)) {
      CHECK(info.arity == 2);
      for (long double a : values)
        for (long double b : values)
          CHECK(same(info.float_reference(a, b, b), info.float_reference(b, a, a)));
    }
    if (info.is(Flag::monotone)) {
      REQUIRE(info.arity == 1);
      std::vector<long double> results;
      for (long double v : samples)
        if (const long double y = info.float_reference(v, v, v); !std::isnan(y)) results.push_back(y);
      CHECK((std::ranges::is_sorted(results) || std::ranges::is_sorted(results, std::greater{})));
    }
    if (info.rule == DTypeRule::compare || info.rule == DTypeRule::test) CHECK(info.is(Flag::discrete));
    CHECK(info.flops > 0);
  }
}

TEST_CASE("the identity of a reduction is neutral for its combining op") {
  for (Op op : all_ops) {
    if (!is_reduction(op)) continue;
    const ReductionInfo& info = reduction_info(op);
    const ElementwiseInfo& combine = elementwise_info(info.combine);
    using Limits = std::numeric_limits<long double>;
    const long double identity = info.identity == Identity::zero     ? 0
                                 : info.identity == Identity::one    ? 1
                                 : info.identity == Identity::lowest ? -Limits::infinity()
                                                                     : Limits::infinity();
    INFO(name(op));
    if (info.accumulator == Accumulator::truth) {
      for (std::int64_t v : {0, 1})
        CHECK(combine.whole_reference(static_cast<std::int64_t>(identity), v, v, boolean) == v);
      continue;
    }
    for (long double v : samples) CHECK(combine.float_reference(identity, v, v) == v);
  }
}
