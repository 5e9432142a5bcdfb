#include "passes/merge_equal.h"

#include "tests/catch.h"
#include "tests/passes/expect_text.h"

namespace sinter::passes {
namespace {

using testing::after;
using testing::normal_form;
using testing::returning;

TEST_CASE("operands in the other order make no second node where that is exact") {
  const std::string_view inputs = "%x: f32[4], %y: f32[4]";
  CHECK(after(merge_equal, returning(inputs, "sub(mul(%y, %x), mul(%x, %y))")) ==
        normal_form(returning(inputs, "sub(mul(%y, %x), mul(%y, %x))")));
  const std::string other = returning(inputs, "add(hypot(%x, %y), hypot(%y, %x))");
  CHECK(after(merge_equal, other) == normal_form(other));
  const std::string difference = returning(inputs, "add(sub(%x, %y), sub(%y, %x))");
  CHECK(after(merge_equal, difference) == normal_form(difference));
}

TEST_CASE("reductions that differ in keepdims are computed once, in the form most readers want") {
  CHECK(after(merge_equal, R"(graph @g(%x: f32[4, 6]) {
    %a = sum(%x, axes=[1], keepdims=true)
    %b = sum(%x, axes=[1])
    return add(%x, exp(%a)), neg(%a), neg(%b)
  })") == normal_form(R"(graph @g(%x: f32[4, 6]) {
    %a = sum(%x, axes=[1], keepdims=true)
    return add(%x, exp(%a)), neg(%a), neg(reshape(%a, shape=[4]))
  })"));
}

TEST_CASE("a reshape that only brings back folded axes becomes keepdims") {
  CHECK(after(merge_equal, returning("%x: f32[4, 6]", "exp(reshape(sum(%x, axes=[1]), shape=[4, 1]))")) ==
        normal_form(R"(graph @g(%x: f32[4, 6]) {
          %s = sum(%x, axes=[1], keepdims=true)
          return exp(reshape(reshape(%s, shape=[4]), shape=[4, 1]))
        })"));
}

TEST_CASE("sums over different axes stay apart") {
  const std::string text = returning("%x: f32[4, 4]", "add(sum(%x, axes=[0]), sum(%x, axes=[1]))");
  CHECK(after(merge_equal, text) == normal_form(text));
}

}  // namespace
}  // namespace sinter::passes
