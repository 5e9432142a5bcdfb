#include "passes/precision.h"

#include "ir/rewrite.h"
#include "tests/catch.h"
#include "tests/passes/expect_text.h"

namespace sinter::passes {
namespace {

using testing::after;
using testing::normal_form;

/// Checks the result in one mode, and that a second run changes nothing.
void becomes(Numerics numerics, std::string_view before, std::string_view expected) {
  const std::string result = after(decide_precision, before, numerics);
  CHECK(result == normal_form(expected));
  CHECK(after(decide_precision, result, numerics) == result);
  CHECK(precision_is_decided(ir::parse(result)));
}

constexpr std::string_view chain = R"(graph @g(%x: bf16[4], %y: bf16[4]) {
  return tanh(add(mul(%x, %y), 1))
})";

TEST_CASE("strict rounds at every operation") {
  becomes(Numerics::strict, chain, R"(graph @g(%x: bf16[4], %y: bf16[4]) {
    %p = cast(mul(cast(%x, dtype=f32), cast(%y, dtype=f32)), dtype=bf16)
    %s = cast(add(cast(%p, dtype=f32), 1), dtype=bf16)
    return cast(tanh(cast(%s, dtype=f32)), dtype=bf16)
  })");
}

TEST_CASE("standard keeps a chain in f32 and rounds what is stored") {
  becomes(Numerics::standard, chain, R"(graph @g(%x: bf16[4], %y: bf16[4]) {
    return cast(tanh(add(mul(cast(%x, dtype=f32), cast(%y, dtype=f32)), 1)), dtype=bf16)
  })");
}

TEST_CASE("an output in the middle of a chain is rounded, what follows is not") {
  becomes(Numerics::standard, "graph @g(%x: f16[4]) {\n  %a = exp(%x)\n  return %a, neg(%a)\n}",
          R"(graph @g(%x: f16[4]) {
    %a = exp(cast(%x, dtype=f32))
    return cast(%a, dtype=f16), cast(neg(%a), dtype=f16)
  })");
}

TEST_CASE("a discrete op and a written cast see the rounded value") {
  becomes(Numerics::standard, R"(graph @g(%x: f16[4]) {
    %a = exp(%x)
    return floor(%a), less(%a, 2), argmax(%a, axes=[0]), cast(%a, dtype=f32), cast(%a, dtype=int32)
  })",
          R"(graph @g(%x: f16[4]) {
    %a = cast(exp(cast(%x, dtype=f32)), dtype=f16)
    %w = cast(%a, dtype=f32)
    return cast(floor(%w), dtype=f16), less(%w, 2), argmax(%w, axes=[0]), %w, cast(%a, dtype=int32)
  })");
}

TEST_CASE("a written cast rounds what follows it") {
  becomes(Numerics::standard, "graph @g(%x: f32[4]) {\n  return neg(cast(exp(%x), dtype=bf16))\n}",
          R"(graph @g(%x: f32[4]) {
    return cast(neg(cast(cast(exp(%x), dtype=bf16), dtype=f32)), dtype=bf16)
  })");
}

TEST_CASE("reductions fold in f32 and round once") {
  for (Numerics numerics : {Numerics::strict, Numerics::standard})
    becomes(numerics, "graph @g(%x: bf16[4, 6]) {\n  return sum(%x, axes=[1])\n}",
            R"(graph @g(%x: bf16[4, 6]) {
      return cast(sum(cast(%x, dtype=f32), axes=[1]), dtype=bf16)
    })");
  becomes(Numerics::standard,
          "graph @g(%x: bf16[4, 6]) {\n  return sub(%x, max(%x, axes=[1], keepdims=true))\n}",
          R"(graph @g(%x: bf16[4, 6]) {
    %w = cast(%x, dtype=f32)
    return cast(sub(%w, broadcast_to(max(%w, axes=[1], keepdims=true), shape=[4, 6])), dtype=bf16)
  })");
}

TEST_CASE("matrix products keep 16-bit operands and results") {
  becomes(Numerics::standard, R"(graph @g(%x: bf16[4, 6], %w: bf16[6, 8], %b: bf16[8]) {
    return maximum(add(matmul(neg(%x), %w), %b), 0)
  })",
          R"(graph @g(%x: bf16[4, 6], %w: bf16[6, 8], %b: bf16[8]) {
    %a = cast(neg(cast(%x, dtype=f32)), dtype=bf16)
    %p = cast(matmul(%a, %w), dtype=f32)
    return cast(maximum(add(%p, cast(broadcast_to(%b, shape=[4, 8]), dtype=f32)), 0), dtype=bf16)
  })");
}

TEST_CASE("what is read beyond a matrix product has been rounded") {
  // The residual h is stored for the second block; in its own block it is not rounded.
  becomes(Numerics::standard, R"(graph @g(%x: bf16[4, 4], %w: bf16[4, 4]) {
    %h = exp(%x)
    %p = matmul(mul(%h, 2), %w)
    return add(%h, %p)
  })",
          R"(graph @g(%x: bf16[4, 4], %w: bf16[4, 4]) {
    %h = exp(cast(%x, dtype=f32))
    %p = matmul(cast(mul(%h, 2), dtype=bf16), %w)
    return cast(add(cast(cast(%h, dtype=bf16), dtype=f32), cast(%p, dtype=f32)), dtype=bf16)
  })");
}

TEST_CASE("movement leaves loads in 16 bits and chains in f32") {
  becomes(Numerics::standard, "graph @g(%x: f16[4, 6]) {\n  return exp(permute_dims(%x, axes=[1, 0]))\n}",
          R"(graph @g(%x: f16[4, 6]) {
    return cast(exp(cast(permute_dims(%x, axes=[1, 0]), dtype=f32)), dtype=f16)
  })");
  becomes(Numerics::standard, R"(graph @g(%x: f16[4]) {
    return exp(pad(neg(%x), before=[1], after=[1], value=0.1))
  })",
          R"(graph @g(%x: f16[4]) {
    return cast(exp(pad(neg(cast(%x, dtype=f32)), before=[1], after=[1], value=0.0999755859375)), dtype=f16)
  })");
}

TEST_CASE("movement alone stays in 16 bits") {
  const std::string_view text = R"(graph @g(%x: bf16[4, 6], %y: bf16[4, 6]) {
    return concat(permute_dims(%x, axes=[1, 0]), permute_dims(%y, axes=[1, 0]), axis=0)
  })";
  for (Numerics numerics : {Numerics::strict, Numerics::standard}) becomes(numerics, text, text);
}

TEST_CASE("f32, f64 and whole numbers are left alone") {
  const std::string_view text = R"(graph @g(%x: f64[4], %y: f32[4], %i: int32[4]) {
    return exp(%x), floor(%y), add(%i, 1), cast(%i, dtype=bf16), cast(%x, dtype=f16)
  })";
  for (Numerics numerics : {Numerics::strict, Numerics::standard}) becomes(numerics, text, text);
}

}  // namespace
}  // namespace sinter::passes
