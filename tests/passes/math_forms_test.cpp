// Where faster forms of functions are allowed.
#include "passes/math_forms.h"

#include "ir/parse.h"
#include "passes/pipeline.h"
#include "tests/catch.h"

using namespace sinter;
using namespace sinter::passes;

namespace {

/// The form of the one node of that op, once the graph is optimised.
MathForm form_of(ir::Op op, std::string_view body, Numerics numerics = Numerics::standard) {
  const ir::Graph g = optimize(ir::parse("graph @g" + std::string(body)), {numerics});
  const std::vector<MathForm> forms = math_forms(g, numerics);
  for (std::uint32_t id = 0; id < g.size(); ++id)
    if (g.op(ir::Value{id}) == op) return forms[id];
  FAIL("no such op in " << body);
  return {};
}

}  // namespace

TEST_CASE("f32 results take the device's function, strict ones the portable one") {
  const char* const body = "(%x: f32[8]) {\n  return exp(%x)\n}";
  CHECK(form_of(ir::Op::exp, body) == MathForm::device);
  CHECK(form_of(ir::Op::exp, body, Numerics::strict) == MathForm::portable);
  CHECK(form_of(ir::Op::exp, "(%x: bf16[8]) {\n  return exp(%x)\n}", Numerics::strict) == MathForm::portable);
}

TEST_CASE("what ends in 16 bits takes the narrow form unless its error could grow") {
  const auto exp_of = [](const std::string& body) {
    return form_of(ir::Op::exp,
                   "(%x: bf16[8, 8], %y: bf16[8, 8]) {\n  %e = exp(%x)\n  return " + body + "\n}");
  };
  CHECK(exp_of("%e") == MathForm::narrow);
  CHECK(exp_of("div(%y, add(%e, 1))") == MathForm::narrow);
  CHECK(exp_of("div(%y, sum(add(%e, 1), axes=[1], keepdims=true))") == MathForm::narrow);
  CHECK(exp_of("max(mul(%e, 0.5), axes=[1])") == MathForm::narrow);
  CHECK(exp_of("sqrt(add(mul(%y, %y), add(%e, 1)))") == MathForm::narrow);
  // e^x - 1 near 0, e^x + y with y = -e^x, log e^x near 1: what is left is mostly error.
  CHECK(exp_of("sub(%e, 1)") == MathForm::device);
  CHECK(exp_of("add(%e, %y)") == MathForm::device);
  CHECK(exp_of("log(sum(%e, axes=[1]))") == MathForm::device);
  CHECK(exp_of("sum(mul(%e, %y), axes=[1])") == MathForm::device);
  CHECK(exp_of("cast(%e, dtype=f32)") == MathForm::narrow);  // rounded where it is written
}

TEST_CASE("an exponential that may be flushed to zero is never made greater again") {
  const auto exp_of = [](const std::string& body) {
    return form_of(ir::Op::exp, "(%x: bf16[8, 8], %y: bf16[8, 8]) {\n" + body + "\n}");
  };
  const std::string shifted =
      "  %e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n"
      "  %s = sum(%e, axes=[1], keepdims=true)\n  return ";
  CHECK(exp_of(shifted + "div(%e, %s)") == MathForm::narrow);  // of the sum, one term is 1
  CHECK(exp_of(shifted + "mul(div(%e, %s), %y)") == MathForm::device);
  const std::string plain = "  %e = exp(%x)\n  return ";
  CHECK(exp_of(plain + "div(%e, sum(%e, axes=[1], keepdims=true))") == MathForm::device);
  CHECK(exp_of(plain + "div(1, %e)") == MathForm::device);
  CHECK(exp_of(plain + "mul(%e, %y)") == MathForm::device);
  CHECK(exp_of(plain + "mul(%e, 2)") == MathForm::device);
  CHECK(exp_of("  %e = exp(sub(%x, max(%x, axes=[1])))\n"  // of another row
               "  return div(%e, sum(%e, axes=[1], keepdims=true))") == MathForm::device);
  CHECK(exp_of("  %e = exp(sub(%x, max(%x, axes=[0], keepdims=true)))\n"
               "  return div(%e, sum(%e, axes=[1], keepdims=true))") == MathForm::device);
}

TEST_CASE("an error that counts often is an error that grows") {
  CHECK(form_of(ir::Op::div,
                "(%x: f16[8], %y: f16[8]) {\n  %0 = div(%x, %y)\n  %1 = mul(%0, %0)\n  %2 = mul(%1, %1)\n"
                "  return %2\n}") == MathForm::narrow);
  CHECK(form_of(ir::Op::div,
                "(%x: f16[8], %y: f16[8]) {\n  %0 = div(%x, %y)\n  %1 = mul(%0, %0)\n  %2 = mul(%1, %1)\n"
                "  %3 = mul(%2, %2)\n  return %3\n}") == MathForm::portable);
}

TEST_CASE("sigmoid and what it gates are narrow throughout") {
  const std::string silu = "(%x: bf16[8]) {\n  return mul(%x, reciprocal(add(1, exp(neg(%x)))))\n}";
  CHECK(form_of(ir::Op::exp, silu) == MathForm::narrow);
  CHECK(form_of(ir::Op::reciprocal, silu) == MathForm::bounded);
}

TEST_CASE("a divisor that is not small needs no care for the ends of the range") {
  const auto div_of = [](const std::string& divisor) {
    return form_of(ir::Op::div, "(%x: bf16[8], %y: bf16[8]) {\n  return div(%x, " + divisor + ")\n}");
  };
  CHECK(div_of("add(1, exp(%y))") == MathForm::bounded);
  CHECK(div_of("add(mul(%y, %y), 2)") == MathForm::bounded);
  CHECK(div_of("add(sqrt(abs(%y)), 0.0001)") == MathForm::bounded);
  CHECK(div_of("exp(%y)") == MathForm::narrow);
  CHECK(div_of("add(exp(%y), 1e-38)") == MathForm::narrow);
  CHECK(div_of("add(1, %y)") == MathForm::narrow);
}

TEST_CASE("1 + erf and 1 + tanh lose their cancellation where the value ends in 16 bits") {
  const std::string gelu = "(%x: bf16[8]) {\n  return mul(mul(0.5, %x), add(1, erf(mul(%x, 0.70710678))))\n}";
  CHECK(form_of(ir::Op::erfc, gelu) == MathForm::coarse);
  const std::string of_f16 =
      "(%x: f16[8]) {\n  return mul(mul(0.5, %x), sub(1, erf(mul(%x, 0.70710678))))\n}";
  CHECK(form_of(ir::Op::erfc, of_f16) == MathForm::narrow);
  CHECK(form_of(ir::Op::exp2, "(%x: bf16[8]) {\n  return mul(%x, add(1, tanh(mul(%x, 1.5))))\n}") ==
        MathForm::narrow);
  const std::string of_f32 = "(%x: f32[8]) {\n  return mul(%x, add(1, erf(%x)))\n}";
  CHECK(form_of(ir::Op::erf, of_f32) == MathForm::device);
}

TEST_CASE("the coarse form is for bf16, and for an error that counts once") {
  CHECK(form_of(ir::Op::erfc, "(%x: bf16[8]) {\n  return erfc(%x)\n}") == MathForm::coarse);
  CHECK(form_of(ir::Op::erfc, "(%x: f16[8]) {\n  return erfc(%x)\n}") == MathForm::narrow);
  CHECK(form_of(ir::Op::erfc, "(%x: bf16[8]) {\n  %e = erfc(%x)\n  return mul(%e, %e)\n}") ==
        MathForm::narrow);
  CHECK(form_of(ir::Op::erfc, "(%x: f16[8]) {\n  %e = erfc(%x)\n  return %e, cast(%e, dtype=bf16)\n}") ==
        MathForm::narrow);
}

TEST_CASE("functions that damp what their operand is off by let it be narrow") {
  const auto exp_of = [](const std::string& body) {
    return form_of(ir::Op::exp, "(%x: bf16[8]) {\n  return " + body + "\n}");
  };
  CHECK(exp_of("add(maximum(%x, 0), log1p(exp(neg(abs(%x)))))") == MathForm::narrow);
  CHECK(exp_of("tanh(exp(%x))") == MathForm::narrow);
  CHECK(exp_of("log1p(neg(exp(%x)))") == MathForm::device);
  CHECK(exp_of("expm1(exp(%x))") == MathForm::device);
  CHECK(exp_of("erfc(exp(%x))") == MathForm::device);
}

TEST_CASE("one reader that wants all of f32 is enough") {
  CHECK(form_of(ir::Op::exp,
                "(%x: bf16[8]) {\n  %e = exp(cast(%x, dtype=f32))\n  return %e, cast(%e, "
                "dtype=bf16)\n}") == MathForm::device);
}

TEST_CASE("quotients by a broadcast value may be summed, others not") {
  CHECK(form_of(ir::Op::div,
                "(%x: bf16[8, 8], %y: bf16[8, 8]) {\n  %s = sum(mul(%x, %x), axes=[1], "
                "keepdims=true)\n  return sub(div(%x, %s), %y)\n}") == MathForm::narrow);
  CHECK(form_of(ir::Op::div, "(%x: bf16[8, 8], %y: bf16[8, 8]) {\n  return sub(div(%x, %y), %y)\n}") ==
        MathForm::portable);
  CHECK(form_of(ir::Op::div, "(%x: f32[8, 8], %y: f32[8, 8]) {\n  return div(%x, %y)\n}") ==
        MathForm::portable);
}

TEST_CASE("a quotient that should be 1 is, before a function that has an edge there") {
  const auto div_of = [](const std::string& result) {
    return form_of(ir::Op::div,
                   "(%x: bf16[8, 8], %y: bf16[8, 8]) {\n  %q = div(%x, max(%x, axes=[1], "
                   "keepdims=true))\n  return " +
                       result + "\n}");
  };
  CHECK(div_of("sub(1, %q)") == MathForm::narrow);
  CHECK(div_of("tanh(add(%q, %y))") == MathForm::narrow);
  for (const char* edge : {"log(sub(1, %q))", "acos(%q)", "atanh(%q)", "sqrt(sub(1, mul(%q, %q)))",
                           "div(%y, sub(1, %q))", "pow(sub(1, %q), -0.5)"})
    CHECK(div_of(edge) == MathForm::portable);
}

TEST_CASE("a logarithm of shifted exponentials keeps their relative error") {
  const auto exp_of = [](const std::string& body) {
    return form_of(ir::Op::exp,
                   "(%x: bf16[8, 64], %i: int64[8, 1], %y: bf16[8, 1]) {\n"
                   "  %z = cast(%x, dtype=f32)\n"
                   "  %m = max(%z, axes=[1], keepdims=true)\n"
                   "  %d = sub(%z, %m)\n"
                   "  %s = log(sum(exp(%d), axes=[1], keepdims=true))\n"
                   "  return cast(" +
                       body + ", dtype=bf16)\n}");
  };
  CHECK(exp_of("%s") == MathForm::narrow);
  CHECK(exp_of("sub(%d, %s)") == MathForm::narrow);                                        // log softmax
  CHECK(exp_of("sub(%s, sub(take_along_axis(%z, %i, axis=1), %m))") == MathForm::narrow);  // cross entropy
  // These may come near zero where the logarithm does not.
  CHECK(exp_of("add(%s, %m)") == MathForm::device);
  CHECK(exp_of("sub(%s, cast(%y, dtype=f32))") == MathForm::device);
  CHECK(exp_of("sub(%s, sub(take_along_axis(neg(%z), %i, axis=1), %m))") == MathForm::device);
  CHECK(exp_of("add(%s, %d)") == MathForm::device);
}
