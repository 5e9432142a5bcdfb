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
  CHECK(exp_of("mul(%e, %y)") == MathForm::narrow);
  CHECK(exp_of("div(%y, add(%e, 1))") == MathForm::narrow);
  CHECK(exp_of("div(%e, sum(%e, axes=[1], keepdims=true))") == MathForm::narrow);
  CHECK(exp_of("sqrt(add(mul(%y, %y), %e))") == MathForm::narrow);
  // e^x - 1 near 0, e^x + y with y = -e^x, log e^x near 1: what is left is mostly error.
  CHECK(exp_of("sub(%e, 1)") == MathForm::device);
  CHECK(exp_of("add(%e, %y)") == MathForm::device);
  CHECK(exp_of("log(sum(%e, axes=[1]))") == MathForm::device);
  CHECK(exp_of("sum(mul(%e, %y), axes=[1])") == MathForm::device);
  CHECK(exp_of("cast(%e, dtype=f32)") == MathForm::narrow);  // rounded where it is written
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
