#include "passes/sink_reshapes.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/passes/expect_text.h"

namespace sinter::passes {
namespace {

using testing::after;
using testing::normal_form;

/// A graph that goes on with rows %n of x, each less its sum.
std::string rows_and(std::string_view inputs, std::string_view shape, int axis, std::string_view expression) {
  return fmt::format(
      "graph @g({}) {{\n  %v = reshape(%x, shape=[{}])\n  %n = sub(%v, sum(%v, axes=[{}], keepdims=true))\n"
      "  return {}\n}}\n",
      inputs, shape, axis, expression);
}

void becomes(std::string_view inputs, std::string_view shape, int axis, std::string_view before,
             std::string_view expected) {
  INFO(before);
  CHECK(after(sink_reshapes, rows_and(inputs, shape, axis, before)) ==
        normal_form(rows_and(inputs, shape, axis, expected)));
}

TEST_CASE("weights of channels go along with the groups of channels that were normalised") {
  const char* const inputs = "%x: f32[N, 8, 6], %w: f32[8]";
  becomes(inputs, "N, 2, 4, 6", 3, "mul(reshape(%n, shape=[N, 8, 6]), reshape(%w, shape=[8, 1]))",
          "reshape(mul(%n, reshape(reshape(%w, shape=[8, 1]), shape=[1, 2, 4, 1])), shape=[N, 8, 6])");
  // So does all that follows.
  becomes(inputs, "N, 2, 4, 6", 3, "add(neg(mul(reshape(%n, shape=[N, 8, 6]), 3)), %x)",
          "reshape(add(neg(mul(%n, 3)), reshape(%x, shape=[N, 2, 4, 6])), shape=[N, 8, 6])");
  becomes(inputs, "N, 2, 4, 6", 3,
          "cast(mul(reshape(%n, shape=[N, 8, 6]), reshape(neg(%v), shape=[N, 8, 6])), dtype=bf16)",
          "reshape(cast(mul(%n, neg(%v)), dtype=bf16), shape=[N, 8, 6])");
}

TEST_CASE("axes may be joined, divided, and both") {
  becomes("%x: f32[3, 4, 5], %w: f32[5]", "3, 4, 5", 2, "mul(reshape(%n, shape=[12, 5]), %w)",
          "reshape(mul(%n, reshape(%w, shape=[1, 1, 5])), shape=[12, 5])");
  becomes("%x: f32[12, 5], %y: f32[3, 4, 5]", "12, 5", 1, "mul(reshape(%n, shape=[3, 4, 5]), %y)",
          "reshape(mul(%n, reshape(%y, shape=[12, 5])), shape=[3, 4, 5])");
  becomes("%x: f32[4, 6], %y: f32[6, 4]", "4, 6", 1, "mul(reshape(%n, shape=[6, 4]), %y)",
          "reshape(mul(%n, reshape(%y, shape=[4, 6])), shape=[6, 4])");
  becomes("%x: f32[A, B, 6], %w: f32[6]", "A, B, 6", 2, "mul(reshape(%n, shape=[A*B, 6]), %w)",
          "reshape(mul(%n, reshape(%w, shape=[1, 1, 6])), shape=[A*B, 6])");
}

TEST_CASE("a reshape stays where an operand does not go along, or nothing was folded") {
  const auto stays = [](std::string_view inputs, std::string_view shape, std::string_view text) {
    becomes(inputs, shape, 1, text, text);
  };
  // Repeated along one of two axes that the rows have as one.
  stays("%x: f32[12, 5], %y: f32[4, 1]", "12, 5", "mul(reshape(%n, shape=[3, 4, 5]), %y)");
  // Computed in the new shape by others.
  stays("%x: f32[12, 5], %y: f32[60]", "12, 5", "mul(reshape(%n, shape=[60]), exp(%y))");
  stays("%x: f32[12, 5]", "12, 5", "mul(reshape(neg(%v), shape=[60]), 2), %n");
  // What folds rows of the new shape has its own.
  stays("%x: f32[12, 5], %w: f32[15]", "12, 5",
        "sub(mul(reshape(%n, shape=[4, 15]), %w), sum(mul(reshape(%n, shape=[4, 15]), %w), axes=[1], "
        "keepdims=true))");
  stays("%x: f32[12, 5]", "12, 5",
        "mul(reshape(%n, shape=[4, 15]), rsqrt(sum(mul(reshape(%n, shape=[4, 15]), 2), axes=[1], "
        "keepdims=true)))");
  // One number a row is no part of the rows.
  stays("%x: f32[12, 5]", "12, 5", "mul(reshape(sum(%v, axes=[1]), shape=[3, 4]), 2), %n");
}

}  // namespace
}  // namespace sinter::passes
