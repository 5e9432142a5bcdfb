// Axes along which tensors are joined or padded, and loops or kernels that take a part of them: every
// element is where it belongs, whatever lies on the borders. Results are exact.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

void check(const std::string& inputs, const std::string& body, const std::vector<ir::Array>& arrays) {
  const std::string text = fmt::format("graph @g({}) {{\n  {}\n}}\n", inputs, body);
  INFO(text);
  CHECK(off_exact(ir::parse(text), arrays) == "");
}

}  // namespace

TEST_CASE("joined and padded vectors are right on both sides of each border") {
  for (DType t : {uint8, f32, f64, DType::boolean}) {
    const std::string inputs = fmt::format("%x: {0}[100], %y: {0}[77], %z: {0}[1]", name(t));
    const std::vector<ir::Array> arrays{whole_numbers(t, {100}), whole_numbers(t, {77}, 3),
                                        whole_numbers(t, {1}, 2)};
    for (const char* formula :
         {"concat(%x, %y, axis=0)", "concat(%z, %x, %z, %y, axis=0)",
          "flip(concat(%y, %z, %x, axis=0), axes=[0])", "pad(%x, before=[3], after=[61], value=1)",
          "pad(%y, before=[0], after=[70], value=0)",
          "flip(pad(%x, before=[40], after=[1], value=1), axes=[0])",
          "slice(concat(%x, %y, axis=0), ranges=[3:170:2])",
          "pad(concat(%x, pad(%y, before=[30], after=[0], value=1), axis=0), before=[50], after=[20], "
          "value=0)",
          "concat(slice(%x, ranges=[1:90]), flip(%x, axes=[0]), broadcast_to(%z, shape=[40]), axis=0)"})
      check(inputs, fmt::format("return cast({}, dtype=f64)", formula), arrays);
  }
}

TEST_CASE("what is computed on the way is right in each part") {
  const std::string inputs = "%x: f32[50000], %y: f32[30001]";
  const std::vector<ir::Array> arrays{whole_numbers(f32, {50000}), whole_numbers(f32, {30001}, 3)};
  check(inputs, "return mul(concat(mul(%x, 2), add(%y, 1), axis=0), 3)", arrays);
  check(inputs, "%c = concat(%x, %y, axis=0)\n  return add(%c, flip(%c, axes=[0])), neg(%c)", arrays);
  check(inputs,
        "return add(pad(abs(%x), before=[7], after=[1], value=2), "
        "cast(slice(iota(shape=[60000], axis=0, dtype=int32), ranges=[0:50008]), dtype=f32))",
        arrays);
}

TEST_CASE("matrices joined and padded along every axis are right") {
  for (std::int64_t columns : {70, 300}) {
    const std::string inputs = fmt::format("%x: f32[6, 5, {0}], %y: f32[6, 5, {0}]", columns);
    const std::vector<ir::Array> arrays{whole_numbers(f32, {6, 5, columns}),
                                        whole_numbers(f32, {6, 5, columns}, 3)};
    for (int axis : {0, 1, 2}) {
      check(inputs, fmt::format("return neg(concat(%x, %y, %x, axis={}))", axis), arrays);
      check(inputs,
            fmt::format(
                "return neg(pad(concat(%y, %x, axis={}), before=[2, 0, 3], after=[0, 4, 1], value=5))", axis),
            arrays);
      check(inputs, fmt::format("return neg(permute_dims(concat(%x, %y, axis={}), axes=[2, 0, 1]))", axis),
            arrays);
    }
    check(inputs, "return add(pad(%x, before=[1, 1, 1], after=[1, 1, 1], value=0), 1)", arrays);
  }
}
