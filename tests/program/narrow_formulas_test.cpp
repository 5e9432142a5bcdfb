// Formulas whose values end in 16 bits, at every f16 and bf16 number: within 0.52 units of the exact value,
// as docs/numerics.md asks, also where their text would cancel or overflow.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

struct Formula {
  const char* text;
  const char* exact = nullptr;  // the same function, written so that long double loses no digits
  double flushed = 0;           // what may be 0
};

constexpr Formula formulas[] = {
    {"exp(%x)", nullptr, 0x1p-126},
    {"exp2(mul(%x, 1.5))", nullptr, 0x1p-126},
    {"exp(mul(%x, -0.625))", nullptr, 0x1p-126},
    // Constants that rules make of others have more than 16 bits.
    {"exp(mul(%x, 1.296875))", nullptr, 0x1p-126},
    {"exp(mul(%x, 20))", nullptr, 0x1p-126},
    {"div(%x, 3)", nullptr, 0x1p-126},
    {"mul(mul(%x, 0.69921875), 1.296875)", nullptr, 0x1p-126},
    {"add(1, tanh(mul(%x, 3)))", "div(2, add(1, exp(mul(%x, -6))))", 0x1p-126},
    {"log(abs(%x))"},
    {"log2(%x)"},
    {"log10(%x)"},
    {"log1p(%x)"},
    {"sqrt(%x)"},
    {"rsqrt(%x)"},
    {"div(1, %x)"},
    {"div(3, add(abs(%x), 1))"},
    {"tanh(%x)"},
    {"erf(%x)"},
    {"erfc(%x)"},
    {"sub(1, erf(%x))", "erfc(%x)"},
    // sigmoid, silu, softplus; gelu in both forms
    {"reciprocal(add(1, exp(neg(%x))))", nullptr, 0x1p-126},
    {"mul(%x, reciprocal(add(1, exp(neg(%x)))))", nullptr, 0x1p-119},
    {"add(maximum(%x, 0), log1p(exp(neg(abs(%x)))))", nullptr, 0x1p-126},
    {"mul(mul(0.5, %x), add(1, erf(mul(%x, 0.70703125))))", "mul(mul(0.5, %x), erfc(mul(%x, -0.70703125)))"},
    {"mul(mul(0.5, %x), add(1, tanh(mul(0.796875, add(%x, mul(mul(mul(0.044677734375, %x), %x), %x))))))",
     "div(%x, add(1, exp(mul(-1.59375, add(%x, mul(mul(mul(0.044677734375, %x), %x), %x))))))", 0x1p-122},
};

/// A graph of one input, every number of a 16-bit dtype.
ir::Graph graph_of(const char* body, DType t) {
  return ir::parse(fmt::format("graph @f(%x: {}[65536]) {{\n  return {}\n}}", name(t), body));
}

ir::Array every_number(DType t) {
  ir::Array array(t, {65536});
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    ir::Scalar x{t};
    x.bits = static_cast<std::uint64_t>(i);
    array.set(i, x);
  }
  return array;
}

}  // namespace

TEST_CASE("formulas that end in 16 bits are within 0.52 units at every number") {
  for (const DType t : {bf16, f16})
    for (const Formula& formula : formulas) {
      const std::vector<ir::Array> inputs{every_number(t)};
      const ir::Exact exact =
          ir::evaluate_reference(graph_of(formula.exact ? formula.exact : formula.text, t), inputs)[0];
      for (const Numerics numerics : {Numerics::standard, Numerics::fast}) {
        INFO(name(t) << ", " << name(numerics) << ": " << formula.text);
        const ir::Array got = run_program(graph_of(formula.text, t), inputs, in_mode(numerics))[0];
        CHECK(mismatch(got, exact, {.ulps = 0.52, .absolute = formula.flushed}) == "");
      }
    }
}
