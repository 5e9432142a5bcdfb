#include "passes/simplify.h"

#include "tests/catch.h"
#include "tests/passes/expect_text.h"

namespace sinter::passes {
namespace {

using testing::after;
using testing::normal_form;
using testing::returning;

/// Checks that `before` becomes `expected` in strict mode, and with a second run stays as it is.
void becomes(std::string_view inputs, std::string_view before, std::string_view expected) {
  INFO(before);
  const std::string result = after(simplify, returning(inputs, before), Numerics::strict);
  CHECK(result == normal_form(returning(inputs, expected)));
  CHECK(after(simplify, result, Numerics::strict) == result);
}

TEST_CASE("what a rule makes is simplified in turn") {
  becomes("%x: f32[4], %y: f32[4]", "neg(neg(add(%x, neg(neg(neg(%y))))))", "sub(%x, %y)");
  becomes("%x: f32[4]", "mul(div(%x, -1), -1)", "%x");
  becomes("%x: bool[4], %y: f32[4]", "where(logical_not(logical_not(logical_not(%x))), %y, 1)",
          "where(%x, 1, %y)");
}

TEST_CASE("a rule keeps the shape when only a scalar is left") {
  becomes("%x: int32[4]", "mul(%x, 0)", "broadcast_to(int32(0), shape=[4])");
  becomes("%c: bool[4], %s: f32[]", "where(%c, %s, %s)", "broadcast_to(%s, shape=[4])");
}

TEST_CASE("what is true of real numbers only is left alone outside fast") {
  for (const char* text :
       {"add(%x, 0)", "mul(%x, 0)", "sub(%x, %x)", "div(%x, %x)", "log(exp(%x))", "sqrt(mul(%x, %x))",
        "mul(exp(%x), exp(%y))", "logical_not(less(%x, %y))", "div(%x, 3)", "neg(sub(%x, %y))"}) {
    INFO(text);
    const std::string before = returning("%x: f32[4], %y: f32[4]", text);
    CHECK(after(simplify, before, Numerics::strict) == normal_form(before));
    CHECK(after(simplify, before, Numerics::standard) == normal_form(before));
    CHECK(after(simplify, before, Numerics::fast) != normal_form(before));
  }
}

TEST_CASE("a pair of casts goes when it changes no value") {
  becomes("%x: int8[4]", "cast(cast(%x, dtype=int64), dtype=int8)", "%x");
  becomes("%x: int8[4]", "cast(cast(%x, dtype=bf16), dtype=f32)", "cast(%x, dtype=f32)");
  becomes("%x: f16[4]", "cast(cast(%x, dtype=f32), dtype=f64)", "cast(%x, dtype=f64)");
  becomes("%x: f16[4]", "cast(cast(%x, dtype=f32), dtype=f16)", "%x");
  becomes("%x: bool[4]", "cast(cast(%x, dtype=int32), dtype=bool)", "%x");
  becomes("%x: int64[4]", "cast(cast(%x, dtype=int32), dtype=int8)", "cast(%x, dtype=int8)");
  becomes("%x: uint8[4]", "cast(cast(%x, dtype=int8), dtype=uint8)", "%x");
}

TEST_CASE("a pair of casts stays when the first rounds, wraps or saturates") {
  const auto stays = [](std::string_view inputs, std::string_view text) { becomes(inputs, text, text); };
  stays("%x: f32[4]", "cast(cast(%x, dtype=f16), dtype=f32)");
  stays("%x: f32[4]", "cast(cast(%x, dtype=int32), dtype=f32)");
  stays("%x: int32[4]", "cast(cast(%x, dtype=f32), dtype=int32)");
  stays("%x: int32[4]", "cast(cast(%x, dtype=int8), dtype=int32)");
  stays("%x: int32[4]", "cast(cast(%x, dtype=f64), dtype=int8)");  // f64 saturates where int32 wraps
  stays("%x: uint8[4]", "cast(cast(%x, dtype=int8), dtype=int32)");
  stays("%x: f16[4]", "cast(cast(%x, dtype=bf16), dtype=f16)");
}

TEST_CASE("a written pair of casts around a 16-bit value holds until its rounding is decided") {
  const std::string text = returning("%x: bf16[4]", "cast(cast(mul(%x, %x), dtype=f32), dtype=bf16)");
  CHECK(after(simplify, text) == normal_form(text));
}

TEST_CASE("movement that moves nothing goes") {
  for (const char* text :
       {"reshape(%x, shape=[4, 6])", "broadcast_to(%x, shape=[4, 6])", "permute_dims(%x, axes=[0, 1])",
        "slice(%x, ranges=[:, 0:6])", "pad(%x, before=[0, 0], after=[0, 0], value=1)",
        "flip(reshape(%x, shape=[1, 24]), axes=[0])"}) {
    const bool is_flip = std::string_view(text).starts_with("flip");
    becomes("%x: f32[4, 6]", text, is_flip ? "reshape(%x, shape=[1, 24])" : "%x");
  }
}

TEST_CASE("movement of movement is one movement") {
  becomes("%x: f32[4, 6]", "reshape(reshape(%x, shape=[24]), shape=[2, 12])", "reshape(%x, shape=[2, 12])");
  becomes("%x: f32[4, 6]", "reshape(reshape(%x, shape=[24]), shape=[4, 6])", "%x");
  becomes("%x: f32[4, 6, 2]", "permute_dims(permute_dims(%x, axes=[2, 0, 1]), axes=[2, 1, 0])",
          "permute_dims(%x, axes=[1, 0, 2])");
  becomes("%x: f32[4, 6]", "permute_dims(permute_dims(%x, axes=[1, 0]), axes=[1, 0])", "%x");
  becomes("%x: f32[6]", "broadcast_to(broadcast_to(%x, shape=[4, 6]), shape=[2, 4, 6])",
          "broadcast_to(%x, shape=[2, 4, 6])");
  becomes("%x: f32[6]", "broadcast_to(reshape(%x, shape=[1, 6]), shape=[4, 6])",
          "broadcast_to(%x, shape=[4, 6])");
  becomes("%x: f32[20]", "slice(slice(%x, ranges=[2:18:3]), ranges=[4:0:-2])", "slice(%x, ranges=[14:2:-6])");
  becomes("%x: f32[4, 6]", "flip(flip(%x, axes=[0, 1]), axes=[1])", "flip(%x, axes=[0])");
  becomes("%x: f32[4, 6]", "flip(flip(%x, axes=[0]), axes=[0])", "%x");
  becomes("%x: f32[4]", "pad(pad(%x, before=[1], after=[2], value=0), before=[3], after=[0], value=0)",
          "pad(%x, before=[4], after=[2], value=0)");
  becomes("%x: f32[4], %y: f32[2]", "concat(concat(%x, %y, axis=0), %x, axis=0)",
          "concat(%x, %y, %x, axis=0)");
}

TEST_CASE("pads with different values stay two") {
  const char* text = "pad(pad(%x, before=[1], after=[2], value=0), before=[3], after=[0], value=-0.0)";
  becomes("%x: f32[4]", text, text);
}

TEST_CASE("movement of equal elements is a broadcast") {
  becomes("%s: f32[]", "permute_dims(broadcast_to(%s, shape=[2, 3]), axes=[1, 0])",
          "broadcast_to(%s, shape=[3, 2])");
  becomes("%s: f32[]", "reshape(%s, shape=[1, 1])", "broadcast_to(%s, shape=[1, 1])");
  becomes("%x: f32[4]", "pad(broadcast_to(2, shape=[3]), before=[1], after=[1], value=2)",
          "broadcast_to(2, shape=[5])");
}

TEST_CASE("elementwise work is done before tensors are broadcast") {
  becomes("%x: f32[6]", "exp(broadcast_to(%x, shape=[4, 6]))", "broadcast_to(exp(%x), shape=[4, 6])");
  becomes("%x: f32[6], %y: f32[6]", "add(broadcast_to(%x, shape=[4, 6]), broadcast_to(%y, shape=[4, 6]))",
          "broadcast_to(add(%x, %y), shape=[4, 6])");
  becomes("%x: f32[4, 6], %s: f32[]", "mul(%x, broadcast_to(%s, shape=[4, 6]))", "mul(%x, %s)");
  becomes("%x: bf16[6]", "cast(broadcast_to(%x, shape=[4, 6]), dtype=f32)",
          "broadcast_to(cast(%x, dtype=f32), shape=[4, 6])");
}

TEST_CASE("a reduction over axes of length 1 is a reshape, unless it sums floats") {
  becomes("%x: f32[4, 1]", "max(%x, axes=[1])", "reshape(%x, shape=[4])");
  becomes("%x: f32[4, 1]", "prod(%x, axes=[1], keepdims=true)", "%x");
  becomes("%x: int64[4, 1]", "sum(%x, axes=[1])", "reshape(%x, shape=[4])");
  becomes("%x: f32[4, 1]", "sum(%x, axes=[1])", "sum(%x, axes=[1])");
}

TEST_CASE("a second rounding to whole values goes") {
  becomes("%x: f32[4]", "round(floor(%x))", "floor(%x)");
  becomes("%x: f32[4]", "ceil(sign(%x))", "sign(%x)");
}

TEST_CASE("symbolic lengths are simplified like others") {
  becomes("%x: f32[M, 4]", "reshape(reshape(%x, shape=[4*M]), shape=[M, 4])", "%x");
  becomes("%x: f32[M, 4]", "exp(neg(neg(%x)))", "exp(%x)");
}

}  // namespace
}  // namespace sinter::passes
