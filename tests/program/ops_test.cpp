// Every operation of the table on every dtype that it admits, in every numeric mode, on the values at which
// arithmetic has its corners. The operations of one dtype are outputs of one graph, so that they are compiled
// together.
#include "ir/build.h"
#include "ir/evaluate_typed.h"
#include "tests/passes/samples.h"
#include "tests/program/check.h"
#include "tests/support/every_op.h"

using namespace sinter;
using namespace sinter::testing;
using ir::Value;

namespace {

constexpr std::int64_t count = 2053;  // a body of vectors, and a tail

std::vector<ir::Array> operands(DType t) {
  return {operand_samples(t, 0, count), operand_samples(t, 1, count), operand_samples(t, 2, count)};
}

void check_every_op(DType t) {
  const ir::Graph g = every_elementwise_op(t, count);
  const std::vector<ir::Array> inputs = operands(t);
  const std::vector<Bounded> expected = evaluate_bounded(g, inputs);
  for (Numerics mode : all_modes) {
    const std::vector<ir::Array> got = run_program(ir::without_dead_nodes(g), inputs, in_mode(mode));
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(g.outputs()[i].name << " of " << name(t) << ", mode " << static_cast<int>(mode));
      CHECK(mismatch_within(got[i], expected[i].value, expected[i].error) == "");
    }
  }
}

}  // namespace

TEST_CASE("every operation is right on f64") {
  check_every_op(f64);
}
TEST_CASE("every operation is right on f32") {
  check_every_op(f32);
}
TEST_CASE("every operation is right on f16") {
  check_every_op(f16);
}
TEST_CASE("every operation is right on bf16") {
  check_every_op(bf16);
}
TEST_CASE("every operation is right on 8-bit whole numbers") {
  check_every_op(int8);
  check_every_op(uint8);
}
TEST_CASE("every operation is right on int32") {
  check_every_op(int32);
}
TEST_CASE("every operation is right on int64") {
  check_every_op(int64);
}
TEST_CASE("every operation is right on bool") {
  check_every_op(DType::boolean);
}

TEST_CASE("whole numbers wrap, and division by zero and shifts out of range give what the rules say") {
  const ir::Graph g = ir::parse(
      "graph @wrap(%x: int32[6], %y: int32[6], %s: int8[6]) {\n"
      "  return add(%x, %y), mul(%x, %y), floor_divide(%x, %y), remainder(%x, %y), left_shift(%x, %y), "
      "right_shift(%x, %y),"
      " abs(%x), neg(%x), pow(%x, %y), mul(%s, %s), cast(%x, dtype=int8)\n}\n");
  const double least = -2147483648.0, most = 2147483647.0;
  const std::vector<ir::Array> got =
      run_program(ir::without_dead_nodes(g), std::vector{vector_of(int32, {most, least, least, 7, -7, 5}),
                                                         vector_of(int32, {1, -1, 0, -2, 33, 31}),
                                                         vector_of(int8, {127, -128, 16, 3, -1, 100})});
  CHECK(numbers_of(got[0]) == std::vector<double>{least, most, least, 5, 26, 36});
  CHECK(numbers_of(got[1]) == std::vector<double>{most, least, 0, -14, -231, 155});
  CHECK(numbers_of(got[2]) == std::vector<double>{most, least, 0, -4, -1, 0});
  CHECK(numbers_of(got[3]) == std::vector<double>{0, 0, 0, -1, 26, 5});
  CHECK(numbers_of(got[4]) == std::vector<double>{-2, 0, least, 0, 0, least});
  CHECK(numbers_of(got[5]) == std::vector<double>{1073741823, -1, least, 0, -1, 0});
  CHECK(numbers_of(got[6]) == std::vector<double>{most, least, least, 7, 7, 5});
  CHECK(numbers_of(got[7]) == std::vector<double>{-most, least, least, -7, 7, -5});
  CHECK(numbers_of(got[8]) == std::vector<double>{most, 0, 1, 0, -100179207, -2128439731});
  CHECK(numbers_of(got[9]) == std::vector<double>{1, 0, 0, 9, 1, 16});
  CHECK(numbers_of(got[10]) == std::vector<double>{-1, 0, 0, 7, -7, 5});
}

TEST_CASE("conversions one after the other are each as they stand, signs of zeros too") {
  for (DType t : {f64, f32, f16, bf16}) {
    ir::Graph g("chains");
    const Value x = g.input("x", t, {count});
    for (DType through : all_dtypes)
      for (DType back : {f64, f32, f16, bf16})
        if (!is_float(through))
          g.output(ir::cast(g, ir::cast(g, x, through), back),
                   std::string(name(through)) + " " + std::string(name(back)));
    const std::vector<ir::Array> inputs{operand_samples(t, 0, count)};
    const std::vector<ir::Array> expected = ir::evaluate_typed(g, inputs);
    const std::vector<ir::Array> got =
        run_program(ir::without_dead_nodes(g), inputs, in_mode(Numerics::strict));
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(name(t) << " through " << g.outputs()[i].name);
      CHECK(mismatch_in_bits(got[i], expected[i]) == "");
    }
  }
}
