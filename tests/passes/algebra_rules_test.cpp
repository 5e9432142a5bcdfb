// Each rule of algebra by itself: what it claims of its class is checked against the evaluators, and that the
// pass really applies it.
#include <set>

#include "ir/base/check.h"
#include "ir/evaluate_reference.h"
#include "ir/evaluate_typed.h"
#include "ir/rewrite.h"
#include "passes/rules.h"
#include "passes/simplify.h"
#include "tests/catch.h"
#include "tests/passes/samples.h"
#include "tests/support/compare.h"

namespace sinter::passes {
namespace {

using ir::Array;
using ir::Graph;
using ir::Op;
using ir::Scalar;
using ir::Value;

constexpr std::size_t samples = 1 << 16;

bool is_condition(const Pattern& p, int term) {
  for (const PatternTerm& t : p.terms) {
    if (t.kind != PatternTerm::Kind::node) continue;
    const bool all = ir::elementwise_info(t.op).rule == ir::DTypeRule::logical;
    for (int i = 0; i < (all ? t.arity : t.op == Op::where ? 1 : 0); ++i)
      if (t.operands[static_cast<std::size_t>(i)] == term) return true;
  }
  return false;
}

DType dtype_of_letter(const Pattern& p, char letter, DType t) {
  for (std::size_t i = 0; i < p.terms.size(); ++i)
    if (p.terms[i].kind == PatternTerm::Kind::letter && p.terms[i].letter == letter &&
        is_condition(p, static_cast<int>(i)))
      return DType::boolean;
  return t;
}

/// Whether the numbers of a pattern are values of the dtype; -1 is none of uint8.
bool holds_literals(const Pattern& p, DType t) {
  for (const PatternTerm& term : p.terms)
    if (term.kind == PatternTerm::Kind::literal && Scalar::from_real(t, term.number).real() != term.number)
      return false;
  return true;
}

/// One side of a rule as a graph; the letters k l m are the given constants, the others inputs.
struct Side {
  Graph graph{"rule"};
  std::vector<Array> inputs;
};

std::optional<Side> build(const Pattern& pattern, const Pattern& from, DType t,
                          std::array<Scalar, 3> constants, DType result, std::size_t n) {
  Side side;
  PatternBindings bindings;
  for (char letter : letters(from)) {
    if (is_constant_letter(letter)) {
      bindings[letter] = side.graph.constant(constants[static_cast<std::size_t>(letter - 'k')]);
      continue;
    }
    const DType own = dtype_of_letter(from, letter, t);
    side.inputs.push_back(testing::operand_samples(own, side.inputs.size(), n));
    bindings[letter] = side.graph.input(std::string(1, letter), own, {static_cast<std::int64_t>(n)});
  }
  try {
    const auto make = [&](Op op, std::span<const Value> operands) { return side.graph.add(op, operands); };
    side.graph.output(instantiate(side.graph, pattern, bindings, result, make));
  } catch (const DTypeError&) {
    return {};  // the op does not admit the dtype
  }
  return side;
}

DType result_dtype(const Pattern& from, DType t) {
  const ir::DTypeRule rule = ir::elementwise_info(from.terms[0].op).rule;
  const bool truth =
      rule == ir::DTypeRule::test || rule == ir::DTypeRule::compare || rule == ir::DTypeRule::logical;
  return truth ? DType::boolean : t;
}

/// Calls `check(dtype, constants)` for each dtype and choice of constants that the rule is for.
template <class Check>
void for_each_case(const AlgebraRule& rule, Check check) {
  const Pattern from = parse_pattern(rule.from);
  const auto used = letters(from);
  const bool has_k = std::ranges::count(used, 'k') > 0, has_l = std::ranges::count(used, 'l') > 0;
  for (DType t : all_dtypes) {
    if (!admits(rule.types, t) || !holds_literals(from, t)) continue;
    const std::vector<Scalar> all = is_bool(t) ? testing::every_value(t) : testing::special_values(t);
    std::vector<Scalar> first;
    for (Scalar k : all)
      if (!rule.when || rule.when(k)) first.push_back(k);
    if (!has_k) first.resize(1);
    for (std::size_t i = 0; i < first.size(); ++i)
      for (std::size_t j = 0; j < (has_l ? all.size() : 1); j += 5)
        check(t, std::array{first[i], all[j], all[j]});
  }
}

std::string describe(const AlgebraRule& rule, DType t, const std::array<Scalar, 3>& k) {
  return fmt::format("{}: {} = {} in {}, k = {}, l = {}", rule.name, rule.from, rule.to, name(t),
                     static_cast<double>(k[0].real()), static_cast<double>(k[1].real()));
}

/// Distance in units in the last place of f32 or f64.
long double ulps(Scalar got, long double exact) {
  const int mantissa = got.dtype == DType::f64 ? 52 : 23, least = got.dtype == DType::f64 ? -1022 : -126;
  const int exponent = std::max(exact == 0 ? least : std::ilogb(exact), least);
  return std::fabs(got.real() - exact) / std::ldexp(1.0L, exponent - mantissa);
}

TEST_CASE("an exact rule of algebra gives the same bits for every operand") {
  for (const AlgebraRule& rule : algebra_rules()) {
    if (rule.rule_class != RuleClass::exact) continue;
    const Pattern from = parse_pattern(rule.from), to = parse_pattern(rule.to);
    int cases = 0;
    std::array<int, all_dtypes.size()> cases_of{};
    for_each_case(rule, [&](DType t, std::array<Scalar, 3> k) {
      const std::size_t n = cases_of[static_cast<std::size_t>(t)]++ < 8 ? samples : 2048;
      const auto left = build(from, from, t, k, result_dtype(from, t), n);
      const auto right = build(to, from, t, k, result_dtype(from, t), n);
      if (!left) return;
      REQUIRE(right);
      ++cases;
      const Array a = ir::evaluate_typed(left->graph, left->inputs)[0];
      Array b = ir::evaluate_typed(right->graph, right->inputs)[0];
      if (b.shape.empty()) b = testing::array_of(b.dtype, std::vector(n, b.at(0)));
      const std::int64_t at = testing::first_difference(a, b);
      INFO(describe(rule, t, k));
      if (at >= 0) {
        for (const Array& x : left->inputs) UNSCOPED_INFO("operand " << static_cast<double>(x.at(at).real()));
        FAIL("gives " << static_cast<double>(a.at(at).real()) << " and "
                      << static_cast<double>(b.at(at).real()));
      }
    });
    INFO(rule.name);
    CHECK(cases > 0);
  }
}

TEST_CASE("a function rule is within what the function promises, with its special values") {
  constexpr long double promised = 4;  // pow
  for (const AlgebraRule& rule : algebra_rules()) {
    if (rule.rule_class != RuleClass::function) continue;
    const Pattern from = parse_pattern(rule.from), to = parse_pattern(rule.to);
    for (DType t : {DType::f32, DType::f64}) {
      const auto left = build(from, from, t, {}, t, samples), right = build(to, from, t, {}, t, samples);
      REQUIRE((left && right));
      const ir::Exact exact = ir::evaluate_reference(left->graph, left->inputs)[0];
      const Array got = ir::evaluate_typed(right->graph, right->inputs)[0];
      long double worst = 0;
      for (std::int64_t i = 0; i < got.elements(); ++i) {
        const Scalar expected = exact.at(i);
        INFO(rule.name << " at " << static_cast<double>(left->inputs[0].at(i).real()));
        if (std::isnan(expected.real()) || std::isinf(expected.real()) || expected.real() == 0) {
          if (!testing::same(expected, got.at(i))) FAIL("not the same special value");
        } else {
          worst = std::max(worst, ulps(got.at(i), exact.reals[static_cast<std::size_t>(i)]));
        }
      }
      INFO(rule.name << " in " << name(t));
      CHECK(worst <= promised);
    }
  }
}

TEST_CASE("a narrow rule is within 0.52 units in the last place once rounded to 16 bits") {
  for (const AlgebraRule& rule : algebra_rules()) {
    if (rule.rule_class != RuleClass::narrow) continue;
    const Pattern from = parse_pattern(rule.from), to = parse_pattern(rule.to);
    for (DType t : {DType::f16, DType::bf16})
      for (double k : {1.0, 0.79788456, -3.0, 1e-6}) {
        const std::array constants{Scalar::from_real(f32, k), Scalar{}, Scalar{}};
        auto left = build(from, from, f32, constants, f32, samples),
             right = build(to, from, f32, constants, f32, samples);
        REQUIRE((left && right));
        const Array values = testing::operand_samples(t, 0, samples);
        for (std::int64_t i = 0; i < values.elements(); ++i) left->inputs[0].set(i, values.at(i).cast(f32));
        // Sums lose digits on the left even in long double; the right side is the same function without that.
        const bool cancels = from.terms[0].op == Op::add || from.terms[0].op == Op::sub;
        const ir::Exact exact = ir::evaluate_reference((cancels ? right : left)->graph, left->inputs)[0];
        const Array got = ir::evaluate_typed(right->graph, left->inputs)[0];
        for (std::int64_t i = 0; i < got.elements(); ++i) {
          const long double expected = exact.reals[static_cast<std::size_t>(i)],
                            stored = got.at(i).cast(t).real();
          if (std::isnan(expected) && std::isnan(stored)) continue;
          if (Scalar::from_real(t, expected).real() == stored) continue;  // also infinity
          const long double unit = testing::ulp(t, expected);
          const bool flushed = std::fabs(expected) < 0x1p-126L && stored == 0;
          if (std::fabs(stored - expected) <= 0.52L * unit || flushed) continue;
          FAIL(rule.name << " in " << name(t) << " at " << static_cast<double>(values.at(i).real())
                         << ", k = " << k << ": " << static_cast<double>(stored) << ", not "
                         << static_cast<double>(expected));
        }
      }
  }
}

TEST_CASE("a narrow or real-only rule holds for real numbers") {
  for (const AlgebraRule& rule : algebra_rules()) {
    if (rule.rule_class != RuleClass::real_only && rule.rule_class != RuleClass::narrow) continue;
    const Pattern from = parse_pattern(rule.from), to = parse_pattern(rule.to);
    const std::array constants{Scalar::from_real(f64, 1.25), Scalar::from_real(f64, 0.75),
                               Scalar::from_real(f64, 3)};
    const auto left = build(from, from, f64, constants, result_dtype(from, f64), 64);
    auto right = build(to, from, f64, constants, result_dtype(from, f64), 64);
    REQUIRE((left && right));
    std::mt19937_64 random(3);
    std::vector<Array> inputs = left->inputs;
    for (Array& x : inputs)
      for (std::int64_t i = 0; i < x.elements(); ++i)
        x.set(i, Scalar::from_real(f64, 0.5L + static_cast<long double>(random() % 1024) / 512));
    const ir::Exact a = ir::evaluate_reference(left->graph, inputs)[0];
    const ir::Exact b = ir::evaluate_reference(right->graph, inputs)[0];
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      const std::int64_t j = b.shape.empty() ? 0 : i;
      INFO(rule.name);
      CHECK(std::fabs(a.at(i).real() - b.at(j).real()) <= 1e-12L * std::fabs(a.at(i).real()) + 1e-15L);
    }
  }
}

TEST_CASE("every rule of algebra is applied in the modes that allow it and in no other") {
  std::set<std::string_view> names;
  for (const AlgebraRule& rule : algebra_rules()) {
    INFO(rule.name << ": " << rule.from);
    CHECK(names.insert(rule.name).second);
    const Pattern from = parse_pattern(rule.from);
    int cases = 0, left_alone = 0;
    for_each_case(rule, [&](DType t, std::array<Scalar, 3> k) {
      const auto side = build(from, from, t, k, result_dtype(from, t), 4);
      if (!side) return;
      ++cases;
      const Graph before = ir::without_dead_nodes(side->graph);
      for (Numerics numerics : {Numerics::strict, Numerics::standard, Numerics::fast}) {
        const bool same = ir::equal(before, simplify(before, {numerics}));
        INFO(name(numerics) << " " << describe(rule, t, k));
        const bool waits =
            waits_for_precision(rule.rule_class) && is_16bit_float(before.dtype(before.outputs()[0].value));
        const bool applies = allowed(rule.rule_class, numerics) && !waits;
        if (applies) CHECK_FALSE(same);
        if (!applies && same) ++left_alone;  // else another rule holds for this k
      }
    });
    CHECK(cases > 0);
    if (rule.rule_class == RuleClass::function || rule.rule_class == RuleClass::real_only)
      CHECK(left_alone > 0);
  }
}

}  // namespace
}  // namespace sinter::passes
