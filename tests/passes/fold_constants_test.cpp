#include "passes/fold_constants.h"

#include "tests/catch.h"
#include "tests/passes/expect_text.h"

namespace sinter::passes {
namespace {

using testing::after;
using testing::normal_form;
using testing::returning;

TEST_CASE("scalars of constants are computed") {
  CHECK(after(fold_constants, returning("%x: f32[4]", "mul(%x, add(f32(1.5), mul(f32(2), f32(3))))")) ==
        normal_form(returning("%x: f32[4]", "mul(%x, 7.5)")));
  CHECK(after(fold_constants, returning("%x: bool[]", "where(less(f32(1), f32(2)), %x, false)")) ==
        normal_form(returning("%x: bool[]", "where(true, %x, false)")));
  CHECK(after(fold_constants, returning("%x: int8[4]", "add(%x, mul(int8(100), int8(3)))")) ==
        normal_form(returning("%x: int8[4]", "add(%x, 44)")));
}

TEST_CASE("strict folds exact functions only") {
  const std::string text = returning("%x: f32[4]", "add(mul(%x, exp(f32(1))), sqrt(f32(4)))");
  CHECK(after(fold_constants, text, Numerics::strict) ==
        normal_form(returning("%x: f32[4]", "add(mul(%x, exp(f32(1))), 2)")));
  CHECK(after(fold_constants, text) == normal_form(returning("%x: f32[4]", "add(mul(%x, 2.7182817), 2)")));
  // On whole numbers every operation is exact.
  CHECK(after(fold_constants, returning("%x: int32[4]", "add(%x, pow(int32(3), int32(4)))"),
              Numerics::strict) == normal_form(returning("%x: int32[4]", "add(%x, 81)")));
}

TEST_CASE("tensors are not computed") {
  const std::string text = returning("", "exp(iota(shape=[4], axis=0, dtype=f32))");
  CHECK(after(fold_constants, text) == normal_form(text));
}

}  // namespace
}  // namespace sinter::passes
