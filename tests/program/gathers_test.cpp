// Vectors that are read under one condition, or at a place that the kernel computes: gathered rows, tensors
// joined, padded or repeated along outer axes, pointwise and folded along every axis. Results are exact.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// Places along an axis, some counted from its end, and some, if asked for, outside.
ir::Array places(std::vector<std::int64_t> shape, std::int64_t length, bool outside = false) {
  ir::Array index(int64, std::move(shape));
  for (std::int64_t i = 0; i < index.elements(); ++i) {
    std::int64_t place = i * 37 % length;
    if (i % 3 == 1) place -= length;
    if (outside && i % 5 == 2) place = i % 2 != 0 ? length : -length - 1;
    index.set(i, ir::Scalar::from_whole(int64, place));
  }
  return index;
}

void check(const std::string& inputs, const std::string& body, const std::vector<ir::Array>& arrays) {
  const std::string text = fmt::format("graph @g({}) {{\n  {}\n}}\n", inputs, body);
  INFO(text);
  CHECK(off_exact(ir::parse(text), arrays) == "");
}

}  // namespace

TEST_CASE("gathered rows are read right, whatever their length") {
  for (DType t : {uint8, bf16, f32, f64, DType::boolean})
    for (std::int64_t columns : {256, 72, 33, 1}) {
      const std::string inputs =
          fmt::format("%x: {0}[40, {1}], %i: int64[50], %y: {0}[50, {1}]", name(t), columns);
      const std::vector<ir::Array> arrays{whole_numbers(t, {40, columns}), places({50}, 40),
                                          whole_numbers(t, {50, columns}, 3)};
      check(inputs, "return take(%x, %i, axis=0)", arrays);
      check(inputs, fmt::format("return {}(take(%x, %i, axis=0), %y)", is_bool(t) ? "logical_xor" : "add"),
            arrays);
    }
}

TEST_CASE("places outside are zero for whole numbers, in whole vectors") {
  for (std::int64_t columns : {256, 40, 9})
    check(fmt::format("%x: int32[40, {}], %i: int64[50]", columns), "return add(take(%x, %i, axis=0), 1)",
          {whole_numbers(int32, {40, columns}), places({50}, 40, true)});
}

TEST_CASE("gathered rows are folded right, along them and across them") {
  for (std::int64_t columns : {128, 1032, 33000, 77})
    for (DType t : {bf16, f32}) {
      const std::string inputs = fmt::format("%x: {}[9, {}], %i: int64[12]", name(t), columns);
      const std::vector<ir::Array> arrays{whole_numbers(t, {9, columns}), places({12}, 9)};
      check(inputs, "return max(take(%x, %i, axis=0), axes=[1])", arrays);
      check(inputs, "return max(take(%x, %i, axis=0), axes=[0])", arrays);
      check(inputs, "%t = take(%x, %i, axis=0)\n  return sub(%t, max(%t, axes=[1], keepdims=true))", arrays);
      check(inputs, "%t = take(%x, %i, axis=0)\n  return sub(%t, min(%t, axes=[0], keepdims=true))", arrays);
    }
}

TEST_CASE("rows gathered along a middle axis are folded right over any axes") {
  const std::string inputs = "%x: f32[5, 7, 64], %i: int64[6], %j: int64[5]";
  const std::vector<ir::Array> arrays{whole_numbers(f32, {5, 7, 64}), places({6}, 7), places({5}, 5)};
  for (const char* axes : {"0", "1", "2", "0, 1", "1, 2", "0, 2", "0, 1, 2"})
    for (const char* data : {"take(%x, %i, axis=1)", "take(take(%x, %j, axis=0), %i, axis=1)"})
      check(inputs, fmt::format("return max({}, axes=[{}])", data, axes), arrays);
}

TEST_CASE("a row whose place another fold has found is read right") {
  check("%x: f32[64, 48], %t: f32[64, 48]", "return add(take(%t, argmax(%x, axes=[0]), axis=0), 1)",
        {whole_numbers(f32, {64, 48}), whole_numbers(f32, {64, 48}, 3)});
  check("%x: f32[64, 48], %t: f32[48, 32]", "return max(take(%t, argmax(%x, axes=[1]), axis=0), axes=[1])",
        {whole_numbers(f32, {64, 48}), whole_numbers(f32, {48, 32}, 3)});
}

TEST_CASE("what is joined, padded or repeated along outer axes is read right") {
  for (DType t : {uint8, bf16, f32})
    for (std::int64_t columns : {128, 40, 3}) {
      const std::string inputs = fmt::format("%x: {0}[6, {1}], %y: {0}[10, {1}]", name(t), columns);
      const std::vector<ir::Array> arrays{whole_numbers(t, {6, columns}), whole_numbers(t, {10, columns}, 3)};
      for (const char* formula :
           {"add(concat(%x, %y, %x, axis=0), 1)", "pad(%x, before=[2, 0], after=[3, 0], value=2)",
            "max(concat(%x, %y, axis=0), axes=[0])",
            "max(pad(%y, before=[1, 0], after=[0, 0], value=1), axes=[1])",
            "pad(concat(%y, slice(%x, ranges=[1:4, :]), axis=0), before=[0, 1], after=[1, 4], value=0)"})
        check(inputs, std::string("return ") + formula, arrays);
      check(inputs,
            fmt::format("return neg(reshape(broadcast_to(reshape(%x, shape=[6, 1, {0}]), shape=[6, 4, {0}]), "
                        "shape=[24, {0}]))",
                        columns),
            arrays);
    }
}
