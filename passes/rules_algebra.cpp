#include <array>
#include <cmath>

#include "passes/rules.h"

namespace sinter::passes {
namespace {

using enum RuleClass;
using ir::Scalar;

/// 1 / k is exact and neither it nor k is subnormal, so that x / k and x * (1 / k) round the same number.
bool is_power_of_two(Scalar k) {
  int exponent = 0;
  const long double v = k.real();
  if (!std::isfinite(v) || std::fabs(std::frexp(v, &exponent)) != 0.5L) return false;
  const int limit = k.dtype == DType::f64 ? 1022 : k.dtype == DType::f16 ? 14 : 126;
  return std::abs(exponent - 1) <= limit;
}

/// Twice k neither overflows nor loses bits.
bool is_moderate(Scalar k) {
  const long double v = std::fabs(k.real());
  return v >= 0x1p-64L && v <= 0x1p64L;
}

bool is_normal(Scalar k) {
  const long double v = std::fabs(k.real());
  const long double least = k.dtype == DType::f64 ? 0x1p-1022L : k.dtype == DType::f16 ? 0x1p-14L : 0x1p-126L;
  return std::isfinite(v) && v >= least && 1 / v >= least;
}

// clang-format off
constexpr std::array rules{
  // Neutral operands. x + 0 is left alone on floats: -0.0 + 0 is 0.
  AlgebraRule{"mul_one",          exact, numbers, "mul(x, 1)",                   "x"},
  AlgebraRule{"mul_minus_one",    exact, numbers, "mul(x, -1)",                  "neg(x)"},
  AlgebraRule{"div_one",          exact, floats,  "div(x, 1)",                   "x"},
  AlgebraRule{"div_minus_one",    exact, floats,  "div(x, -1)",                  "neg(x)"},
  AlgebraRule{"add_minus_zero",   exact, floats,  "add(x, -0.0)",                "x"},
  AlgebraRule{"sub_zero",         exact, numbers, "sub(x, 0)",                   "x"},
  AlgebraRule{"minus_zero_sub",   exact, floats,  "sub(-0.0, x)",                "neg(x)"},
  AlgebraRule{"add_zero",         exact, wholes,  "add(x, 0)",                   "x"},
  AlgebraRule{"zero_sub",         exact, wholes,  "sub(0, x)",                   "neg(x)"},
  AlgebraRule{"fma_one",          exact, numbers, "fma(x, 1, y)",                "add(x, y)"},
  AlgebraRule{"fma_minus_one",    exact, numbers, "fma(x, -1, y)",               "sub(y, x)"},
  AlgebraRule{"fma_minus_zero",   exact, floats,  "fma(x, y, -0.0)",             "mul(x, y)"},
  AlgebraRule{"fma_neg_neg",      exact, numbers, "fma(neg(x), neg(y), z)",      "fma(x, y, z)"},
  AlgebraRule{"maximum_lowest",   exact, floats,  "maximum(x, -inf)",            "x"},
  AlgebraRule{"minimum_highest",  exact, floats,  "minimum(x, inf)",             "x"},
  // Signs. -x, |x| and products with -1 change the sign bit and nothing else, and rounding is symmetric.
  AlgebraRule{"neg_neg",          exact, numbers, "neg(neg(x))",                 "x"},
  AlgebraRule{"abs_abs",          exact, numbers, "abs(abs(x))",                 "abs(x)"},
  AlgebraRule{"abs_neg",          exact, signed_numbers, "abs(neg(x))",                 "abs(x)"},
  AlgebraRule{"abs_copysign",     exact, floats,  "abs(copysign(x, y))",         "abs(x)"},
  AlgebraRule{"sign_sign",        exact, numbers, "sign(sign(x))",               "sign(x)"},
  AlgebraRule{"copysign_self",    exact, floats,  "copysign(x, x)",              "x"},
  AlgebraRule{"copysign_neg",     exact, floats,  "copysign(neg(x), y)",         "copysign(x, y)"},
  AlgebraRule{"copysign_abs",     exact, floats,  "copysign(abs(x), y)",         "copysign(x, y)"},
  AlgebraRule{"add_neg",          exact, numbers, "add(x, neg(y))",              "sub(x, y)"},
  AlgebraRule{"sub_neg",          exact, numbers, "sub(x, neg(y))",              "add(x, y)"},
  AlgebraRule{"neg_sub",          exact, wholes,  "neg(sub(x, y))",              "sub(y, x)"},
  AlgebraRule{"mul_neg_neg",      exact, numbers, "mul(neg(x), neg(y))",         "mul(x, y)"},
  AlgebraRule{"mul_neg_constant", exact, numbers, "mul(neg(x), k)",              "mul(x, neg(k))"},
  AlgebraRule{"neg_mul_constant", exact, numbers, "neg(mul(x, k))",              "mul(x, neg(k))"},
  AlgebraRule{"mul_abs_abs",      exact, numbers, "mul(abs(x), abs(x))",         "mul(x, x)"},
  AlgebraRule{"div_neg_neg",      exact, floats,  "div(neg(x), neg(y))",         "div(x, y)"},
  AlgebraRule{"div_neg_constant", exact, floats,  "div(neg(x), k)",              "div(x, neg(k))"},
  AlgebraRule{"neg_div_constant", exact, floats,  "neg(div(x, k))",              "div(x, neg(k))"},
  // Quotients.
  AlgebraRule{"div_power_of_two", exact, floats,  "div(x, k)",                   "mul(x, reciprocal(k))", is_power_of_two, "k and 1/k are normal powers of two"},
  AlgebraRule{"one_div",          exact, floats,  "div(1, x)",                   "reciprocal(x)"},
  // Whole numbers wrap, so their sums and products obey the laws of a ring.
  AlgebraRule{"mul_zero",         exact, wholes,  "mul(x, 0)",                   "0"},
  AlgebraRule{"sub_self",         exact, wholes,  "sub(x, x)",                   "0"},
  AlgebraRule{"add_constants",    exact, wholes,  "add(add(x, k), l)",           "add(x, add(k, l))"},
  AlgebraRule{"sub_add_constant", exact, wholes,  "sub(add(x, k), l)",           "add(x, sub(k, l))"},
  AlgebraRule{"add_sub_constant", exact, wholes,  "add(sub(x, k), l)",           "add(x, sub(l, k))"},
  AlgebraRule{"sub_constants",    exact, wholes,  "sub(sub(x, k), l)",           "sub(x, add(k, l))"},
  AlgebraRule{"mul_constants",    exact, wholes,  "mul(mul(x, k), l)",           "mul(x, mul(k, l))"},
  AlgebraRule{"floor_divide_one", exact, wholes,  "floor_divide(x, 1)",          "x"},
  AlgebraRule{"remainder_one",    exact, wholes,  "remainder(x, 1)",             "0"},
  AlgebraRule{"whole_square",     exact, wholes,  "pow(x, 2)",                   "mul(x, x)"},
  AlgebraRule{"whole_floor",      exact, wholes,  "floor(x)",                    "x"},
  AlgebraRule{"whole_ceil",       exact, wholes,  "ceil(x)",                     "x"},
  AlgebraRule{"whole_trunc",      exact, wholes,  "trunc(x)",                    "x"},
  AlgebraRule{"whole_round",      exact, wholes,  "round(x)",                    "x"},
  // Order. Equal operands, and constants folded into one bound; comparisons read left to right, constant last.
  AlgebraRule{"maximum_self",     exact, any_type, "maximum(x, x)",              "x"},
  AlgebraRule{"minimum_self",     exact, any_type, "minimum(x, x)",              "x"},
  AlgebraRule{"maximum_first",    exact, any_type, "maximum(maximum(x, y), x)",  "maximum(x, y)"},
  AlgebraRule{"maximum_second",   exact, any_type, "maximum(maximum(x, y), y)",  "maximum(x, y)"},
  AlgebraRule{"minimum_first",    exact, any_type, "minimum(minimum(x, y), x)",  "minimum(x, y)"},
  AlgebraRule{"minimum_second",   exact, any_type, "minimum(minimum(x, y), y)",  "minimum(x, y)"},
  AlgebraRule{"maximum_constants", exact, any_type, "maximum(maximum(x, k), l)", "maximum(x, maximum(k, l))"},
  AlgebraRule{"minimum_constants", exact, any_type, "minimum(minimum(x, k), l)", "minimum(x, minimum(k, l))"},
  AlgebraRule{"constant_less",    exact, any_type, "less(k, x)",                 "greater(x, k)"},
  AlgebraRule{"constant_less_equal", exact, any_type, "less_equal(k, x)",        "greater_equal(x, k)"},
  AlgebraRule{"constant_greater", exact, any_type, "greater(k, x)",              "less(x, k)"},
  AlgebraRule{"constant_greater_equal", exact, any_type, "greater_equal(k, x)",  "less_equal(x, k)"},
  AlgebraRule{"less_self",        exact, any_type, "less(x, x)",                 "false"},
  AlgebraRule{"greater_self",     exact, any_type, "greater(x, x)",              "false"},
  AlgebraRule{"equal_self",       exact, wholes | bools, "equal(x, x)",          "true"},
  AlgebraRule{"less_equal_self",  exact, wholes | bools, "less_equal(x, x)",     "true"},
  AlgebraRule{"greater_equal_self", exact, wholes | bools, "greater_equal(x, x)", "true"},
  AlgebraRule{"not_equal_self",   exact, wholes | bools, "not_equal(x, x)",      "false"},
  AlgebraRule{"is_itself",        exact, floats,  "equal(x, x)",                 "logical_not(isnan(x))"},
  AlgebraRule{"is_not_itself",    exact, floats,  "not_equal(x, x)",             "isnan(x)"},
  AlgebraRule{"isnan_whole",      exact, wholes | bools, "isnan(x)",             "false"},
  AlgebraRule{"isinf_whole",      exact, wholes | bools, "isinf(x)",             "false"},
  AlgebraRule{"isfinite_whole",   exact, wholes | bools, "isfinite(x)",          "true"},
  // Choice.
  AlgebraRule{"where_true",       exact, any_type, "where(true, x, y)",          "x"},
  AlgebraRule{"where_false",      exact, any_type, "where(false, x, y)",         "y"},
  AlgebraRule{"where_same",       exact, any_type, "where(z, x, x)",             "x"},
  AlgebraRule{"where_not",        exact, any_type, "where(logical_not(z), x, y)", "where(z, y, x)"},
  AlgebraRule{"where_again",      exact, any_type, "where(z, where(z, x, w), y)", "where(z, x, y)"},
  AlgebraRule{"where_again_else", exact, any_type, "where(z, x, where(z, w, y))", "where(z, x, y)"},
  AlgebraRule{"where_truth",      exact, bools,   "where(z, true, false)",       "z"},
  AlgebraRule{"where_untruth",    exact, bools,   "where(z, false, true)",       "logical_not(z)"},
  // Logic and bits. not(a < b) is a >= b for whole numbers only: NaN is neither.
  AlgebraRule{"not_not",          exact, bools,   "logical_not(logical_not(x))", "x"},
  AlgebraRule{"not_equal_to",     exact, any_type, "logical_not(equal(x, y))",    "not_equal(x, y)"},
  AlgebraRule{"not_not_equal",    exact, any_type, "logical_not(not_equal(x, y))", "equal(x, y)"},
  AlgebraRule{"not_less",         exact, wholes | bools, "logical_not(less(x, y))", "greater_equal(x, y)"},
  AlgebraRule{"not_less_equal",   exact, wholes | bools, "logical_not(less_equal(x, y))", "greater(x, y)"},
  AlgebraRule{"not_greater",      exact, wholes | bools, "logical_not(greater(x, y))", "less_equal(x, y)"},
  AlgebraRule{"not_greater_equal", exact, wholes | bools, "logical_not(greater_equal(x, y))", "less(x, y)"},
  AlgebraRule{"and_true",         exact, bools,   "logical_and(x, true)",        "x"},
  AlgebraRule{"and_false",        exact, bools,   "logical_and(x, false)",       "false"},
  AlgebraRule{"and_self",         exact, bools,   "logical_and(x, x)",           "x"},
  AlgebraRule{"or_true",          exact, bools,   "logical_or(x, true)",         "true"},
  AlgebraRule{"or_false",         exact, bools,   "logical_or(x, false)",        "x"},
  AlgebraRule{"or_self",          exact, bools,   "logical_or(x, x)",            "x"},
  AlgebraRule{"xor_true",         exact, bools,   "logical_xor(x, true)",        "logical_not(x)"},
  AlgebraRule{"xor_false",        exact, bools,   "logical_xor(x, false)",       "x"},
  AlgebraRule{"xor_self",         exact, bools,   "logical_xor(x, x)",           "false"},
  AlgebraRule{"bits_not_not",     exact, wholes | bools, "bitwise_not(bitwise_not(x))", "x"},
  AlgebraRule{"bits_and_self",    exact, wholes | bools, "bitwise_and(x, x)",    "x"},
  AlgebraRule{"bits_and_zero",    exact, wholes | bools, "bitwise_and(x, 0)",    "0"},
  AlgebraRule{"bits_or_self",     exact, wholes | bools, "bitwise_or(x, x)",     "x"},
  AlgebraRule{"bits_or_zero",     exact, wholes | bools, "bitwise_or(x, 0)",     "x"},
  AlgebraRule{"bits_xor_self",    exact, wholes | bools, "bitwise_xor(x, x)",    "0"},
  AlgebraRule{"bits_xor_zero",    exact, wholes | bools, "bitwise_xor(x, 0)",    "x"},
  AlgebraRule{"left_shift_zero",  exact, wholes,  "left_shift(x, 0)",            "x"},
  AlgebraRule{"right_shift_zero", exact, wholes,  "right_shift(x, 0)",           "x"},
  // Powers that are a product or a simpler function, no further off than pow may be.
  AlgebraRule{"pow_one",          function, floats, "pow(x, 1)",                 "x"},
  AlgebraRule{"pow_square",       function, floats, "pow(x, 2)",                 "mul(x, x)"},
  AlgebraRule{"pow_cube",         function, floats, "pow(x, 3)",                 "mul(mul(x, x), x)"},
  AlgebraRule{"pow_minus_one",    function, floats, "pow(x, -1)",                "reciprocal(x)"},
  AlgebraRule{"pow_of_two",       function, floats, "pow(2, x)",                 "exp2(x)"},
  // 1 + tanh(u) = 2 sigmoid(2u), without the cancellation at negative u and with one exp in place of a tanh.
  AlgebraRule{"one_plus_tanh_of_product", narrow, floats, "add(tanh(mul(x, k)), 1)", "div(2, add(exp(mul(x, mul(k, -2))), 1))", is_moderate, "2^-64 <= |k| <= 2^64"},
  AlgebraRule{"one_plus_tanh",    narrow, floats, "add(tanh(x), 1)",             "div(2, add(exp(mul(x, -2)), 1))"},
  AlgebraRule{"one_minus_tanh",   narrow, floats, "sub(1, tanh(x))",             "div(2, add(exp(mul(x, 2)), 1))"},
  // 1 + erf(u) = erfc(-u), likewise.
  AlgebraRule{"one_plus_erf",     narrow, floats, "add(erf(x), 1)",              "erfc(neg(x))"},
  AlgebraRule{"one_minus_erf",    narrow, floats, "sub(1, erf(x))",              "erfc(x)"},
  // Powers of 2 are what machines have; the factor is rounded once more.
  AlgebraRule{"exp_of_product",   narrow, floats, "exp(mul(x, k))",              "exp2(mul(x, mul(k, 1.44269504088896340736)))", is_moderate, "2^-64 <= |k| <= 2^64"},
  // What is true of real numbers only.
  AlgebraRule{"real_add_zero",    real_only, floats, "add(x, 0)",                "x"},
  AlgebraRule{"real_zero_sub",    real_only, floats, "sub(0, x)",                "neg(x)"},
  AlgebraRule{"real_mul_zero",    real_only, floats, "mul(x, 0)",                "0"},
  AlgebraRule{"real_sub_self",    real_only, floats, "sub(x, x)",                "0"},
  AlgebraRule{"real_div_self",    real_only, floats, "div(x, x)",                "1"},
  AlgebraRule{"real_neg_sub",     real_only, floats, "neg(sub(x, y))",           "sub(y, x)"},
  AlgebraRule{"log_exp",          real_only, floats, "log(exp(x))",              "x"},
  AlgebraRule{"exp_log",          real_only, floats, "exp(log(x))",              "x"},
  AlgebraRule{"exp_mul_exp",      real_only, floats, "mul(exp(x), exp(y))",      "exp(add(x, y))"},
  AlgebraRule{"sqrt_square",      real_only, floats, "sqrt(mul(x, x))",          "abs(x)"},
  AlgebraRule{"pow_half",         real_only, floats, "pow(x, 0.5)",              "sqrt(x)"},
  AlgebraRule{"reciprocal_sqrt",  real_only, floats, "reciprocal(sqrt(x))",      "rsqrt(x)"},
  AlgebraRule{"div_sqrt",         real_only, floats, "div(x, sqrt(y))",          "mul(x, rsqrt(y))"},
  AlgebraRule{"div_constant",     real_only, floats, "div(x, k)",                "mul(x, reciprocal(k))", is_normal, "k and 1/k are normal"},
  AlgebraRule{"real_add_constants", real_only, floats, "add(add(x, k), l)",      "add(x, add(k, l))"},
  AlgebraRule{"real_mul_constants", real_only, floats, "mul(mul(x, k), l)",      "mul(x, mul(k, l))"},
  AlgebraRule{"real_not_less",    real_only, floats, "logical_not(less(x, y))",  "greater_equal(x, y)"},
  AlgebraRule{"real_not_less_equal", real_only, floats, "logical_not(less_equal(x, y))", "greater(x, y)"},
  AlgebraRule{"real_not_greater", real_only, floats, "logical_not(greater(x, y))", "less_equal(x, y)"},
  AlgebraRule{"real_not_greater_equal", real_only, floats, "logical_not(greater_equal(x, y))", "less(x, y)"},
};
// clang-format on

}  // namespace

std::span<const AlgebraRule> algebra_rules() {
  return rules;
}

std::string_view name(RuleClass c) {
  switch (c) {
    case exact:
      return "exact";
    case shape:
      return "shape";
    case function:
      return "function";
    case narrow:
      return "narrow";
    case real_only:
      break;
  }
  return "real only";
}

bool allowed(RuleClass c, Numerics numerics, bool ends_narrow) {
  switch (c) {
    case exact:
    case shape:
      return true;
    case function:
      return numerics != Numerics::strict;
    case narrow:
      return numerics == Numerics::fast || (numerics == Numerics::standard && ends_narrow);
    case real_only:
      break;
  }
  return numerics == Numerics::fast;
}

bool waits_for_precision(RuleClass c) {
  return c == RuleClass::narrow || c == RuleClass::real_only;
}

bool admits(unsigned types, DType t) {
  const unsigned kind = is_float(t)         ? floats
                        : is_bool(t)        ? bools
                        : t == DType::uint8 ? unsigned_wholes
                                            : signed_wholes;
  return (types & kind) != 0;
}

}  // namespace sinter::passes
