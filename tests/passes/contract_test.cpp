#include "passes/contract.h"

#include "tests/catch.h"
#include "tests/passes/expect_text.h"

namespace sinter::passes {
namespace {

using testing::after;
using testing::normal_form;
using testing::returning;

constexpr std::string_view inputs = "%x: f32[4], %y: f32[4], %z: f32[4]";

void becomes(std::string_view before, std::string_view expected) {
  INFO(before);
  CHECK(after(contract, returning(inputs, before)) == normal_form(returning(inputs, expected)));
}

void stays(std::string_view text) {
  becomes(text, text);
}

TEST_CASE("a product that feeds one sum or difference becomes an fma") {
  becomes("add(mul(%x, %y), %z)", "fma(%x, %y, %z)");
  becomes("add(%z, mul(%x, %y))", "fma(%x, %y, %z)");
  becomes("sub(mul(%x, %y), 3)", "fma(%x, %y, -3)");
  becomes("sub(mul(%x, %y), %z)", "fma(%x, %y, neg(%z))");
  becomes("sub(%z, mul(%x, 2))", "fma(%x, -2, %z)");
  becomes("sub(%z, mul(%x, %y))", "fma(neg(%x), %y, %z)");
}

TEST_CASE("a product beside a product is not contracted") {
  stays("sub(mul(%x, %y), mul(%y, %z))");
  stays("add(mul(%x, %x), mul(%y, %y))");
}

TEST_CASE("a product with another use is not contracted") {
  const std::string text = R"(graph @g(%x: f32[4], %y: f32[4]) {
    %p = mul(%x, %y)
    return add(%p, 1), %p
  })";
  CHECK(after(contract, text) == normal_form(text));
  const std::string twice = R"(graph @g(%x: f32[4], %y: f32[4]) {
    %p = mul(%x, %y)
    return add(%p, 1), sub(%p, 1)
  })";
  CHECK(after(contract, twice) == normal_form(twice));
}

TEST_CASE("nothing is contracted in strict mode, nor in whole numbers, nor in 16 bits") {
  const std::string text = returning(inputs, "add(mul(%x, %y), %z)");
  CHECK(after(contract, text, Numerics::strict) == normal_form(text));
  for (const char* dtype : {"int32", "bf16"}) {
    const std::string typed = returning(std::string("%x: ") + dtype + "[4]", "add(mul(%x, %x), 1)");
    CHECK(after(contract, typed) == normal_form(typed));
  }
}

TEST_CASE("f64 is contracted, too") {
  CHECK(after(contract, returning("%x: f64[4]", "add(mul(%x, %x), 1)")) ==
        normal_form(returning("%x: f64[4]", "fma(%x, %x, 1)")));
}

}  // namespace
}  // namespace sinter::passes
