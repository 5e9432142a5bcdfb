// The functions made from the op table: each records its own op; and their options, by values worked out by
// hand.
#include <functional>

#include "frontend/built_program.h"
#include "ir/op.h"
#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

using Call = std::function<Tensor(const std::vector<Tensor>&)>;
struct Row {
  ir::Op op;
  Call call;
};

#define SINTER_GIVEN_1 x[0]
#define SINTER_GIVEN_2 x[0], x[1]
#define SINTER_GIVEN_3 x[0], x[1], x[2]
#define SINTER_MORE_numeric
#define SINTER_MORE_floating
#define SINTER_MORE_ordered
#define SINTER_MORE_test
#define SINTER_MORE_compare
#define SINTER_MORE_logical
#define SINTER_MORE_bitwise
#define SINTER_MORE_shift
#define SINTER_MORE_select
#define SINTER_MORE_cast , f64
const std::vector<Row> elementwise_rows{
#define SINTER_ELEMENTWISE(id, api, arity, rule, ...) \
  {ir::Op::id,                                        \
   [](const std::vector<Tensor>& x) { return sinter::api(SINTER_GIVEN_##arity SINTER_MORE_##rule); }},
#include "sinter/ops.def"
};
const std::vector<Row> reduction_rows{
#define SINTER_REDUCTION(id, api, ...) \
  {ir::Op::id,                         \
   [](const std::vector<Tensor>& x) { return sinter::api(x[0], {.axes = {-1}, .keepdims = true}); }},
#include "sinter/ops.def"
};

/// The graph of a call on stand-ins of shape [2, 3].
ir::Graph record(const Call& call, const std::vector<DType>& dtypes) {
  std::vector<frontend::Argument> arguments;
  for (const DType t : dtypes) arguments.push_back(TensorSpec{t, {2, 3}});
  const auto body = [&](std::span<const frontend::Argument> given) {
    std::vector<Tensor> x;
    for (const frontend::Argument& each : given) x.push_back(std::get<Tensor>(each));
    return std::vector<Tensor>{call(x)};
  };
  return frontend::capture("f", body, arguments).graph;
}

}  // namespace

TEST_CASE("every elementwise function records its op, in the dtype of its rule") {
  for (const Row& row : elementwise_rows) {
    const ir::ElementwiseInfo& info = ir::elementwise_info(row.op);
    INFO(ir::api_name(row.op));
    for (const DType t : all_dtypes) {
      if (!ir::admits(info.rule, t)) continue;
      INFO(name(t));
      std::vector<DType> dtypes(static_cast<std::size_t>(info.arity), t);
      if (info.rule == ir::DTypeRule::select) dtypes[0] = boolean;
      const ir::Graph g = record(row.call, dtypes);
      const ir::Value y = g.outputs().at(0).value;
      if (row.op == ir::Op::cast && t == f64) continue;  // nothing to convert
      CHECK(g.op(y) == row.op);
      for (std::size_t i = 0; i < dtypes.size(); ++i) CHECK(g.operands(y)[i] == g.inputs()[i]);
    }
  }
}

TEST_CASE("every reduction records its op, with its options") {
  for (const Row& row : reduction_rows) {
    INFO(ir::api_name(row.op));
    const DType t = ir::reduction_info(row.op).accumulator == ir::Accumulator::truth ? boolean : f32;
    const ir::Graph g = record(row.call, {t});
    const ir::Value y = g.outputs().at(0).value;
    CHECK(g.op(y) == row.op);
    CHECK(g.attrs(y).axes == std::vector<std::int64_t>{1});
    CHECK(g.shape(y) == ir::Shape{2, 1});
  }
}

TEST_CASE("a node keeps the user's line") {
  int line = 0;
  const ir::Graph g = record(
      [&](const std::vector<Tensor>& x) {
        line = __LINE__ + 1;
        return exp(x[0]);
      },
      {f32});
  const std::source_location where = g[g.outputs()[0].value].location;
  CHECK(static_cast<int>(where.line()) == line);
  CHECK(std::string(where.file_name()).ends_with("functions_test.cpp"));
}

TEST_CASE("the nodes of a composite keep the line where it was called") {
  const int line = __LINE__ + 1;
  const ir::Graph g = record([](const std::vector<Tensor>& x) { return softmax(x[0]); }, {bf16});
  for (std::uint32_t id = 1; id < g.size(); ++id)
    CHECK(static_cast<int>(g[ir::Value{id}].location.line()) == line);
}

TEST_CASE("operators record the op they stand for") {
  const std::vector<std::pair<ir::Op, Call>> rows{
      {ir::Op::add, [](auto& x) { return x[0] + x[1]; }},
      {ir::Op::sub, [](auto& x) { return x[0] - x[1]; }},
      {ir::Op::mul, [](auto& x) { return x[0] * x[1]; }},
      {ir::Op::remainder, [](auto& x) { return x[0] % x[1]; }},
      {ir::Op::neg, [](auto& x) { return -x[0]; }},
      {ir::Op::equal, [](auto& x) { return x[0] == x[1]; }},
      {ir::Op::not_equal, [](auto& x) { return x[0] != x[1]; }},
      {ir::Op::less, [](auto& x) { return x[0] < x[1]; }},
      {ir::Op::less_equal, [](auto& x) { return x[0] <= x[1]; }},
      {ir::Op::greater, [](auto& x) { return x[0] > x[1]; }},
      {ir::Op::greater_equal, [](auto& x) { return x[0] >= x[1]; }},
      {ir::Op::bitwise_and, [](auto& x) { return x[0] & x[1]; }},
      {ir::Op::bitwise_or, [](auto& x) { return x[0] | x[1]; }},
      {ir::Op::bitwise_xor, [](auto& x) { return x[0] ^ x[1]; }},
      {ir::Op::bitwise_not, [](auto& x) { return ~x[0]; }},
      {ir::Op::left_shift, [](auto& x) { return x[0] << x[1]; }},
      {ir::Op::right_shift, [](auto& x) { return x[0] >> x[1]; }},
      {ir::Op::logical_not, [](auto& x) { return !x[0]; }},
  };
  for (const auto& [op, call] : rows) {
    INFO(ir::name(op));
    const ir::Graph g = record(call, {int32, int32});
    CHECK(g.op(g.outputs()[0].value) == op);
  }
  const ir::Graph division = record([](auto& x) { return x[0] / x[1]; }, {f32, f32});
  CHECK(division.op(division.outputs()[0].value) == ir::Op::div);
}

TEST_CASE("numbers take the dtype of the tensor they meet") {
  for (const DType t : {f64, f32, f16, bf16}) {
    CHECK((ones({2}, t) * 2.0).dtype() == t);
    CHECK((2.0f + ones({2}, t)).dtype() == t);
    CHECK((ones({2}, t) - 1).dtype() == t);
  }
  CHECK((ones({2}, int8) * 3).dtype() == int8);
  CHECK((ones({2}, int32) * 0.5).dtype() == f32);
  CHECK((ones({2}, boolean) + 1).dtype() == int64);
  CHECK((ones({2}, f32) > 1).dtype() == boolean);
  CHECK(where(ones({2}, boolean), ones({2}, bf16), 0.0).dtype() == bf16);
  CHECK_THROWS_AS(ones({2}, int8) + 200, DTypeError);
}

TEST_CASE("tensors of two dtypes meet in the wider of the higher category") {
  CHECK((ones({2}, bf16) + ones({2}, f16)).dtype() == f32);
  CHECK((ones({2}, int64) + ones({2}, bf16)).dtype() == bf16);
  CHECK((ones({2}, int8) + ones({2}, uint8)).dtype() == int32);
  CHECK((ones({2}, int32) / ones({2}, int32)).dtype() == f32);
}

TEST_CASE("shapes broadcast from the last axis") {
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(numbers(x + floats({10, 20, 30})) == std::vector<double>{11, 22, 33, 14, 25, 36});
  CHECK(numbers(x * floats({1, -1}, {2, 1})) == std::vector<double>{1, 2, 3, -4, -5, -6});
  CHECK((floats({1, 2}, {2, 1}) + floats({1, 2, 3})).shape() == Shape{2, 3});
}

TEST_CASE("reductions fold the axes asked for") {
  const Tensor x = floats({1, 5, 3, 4, 2, 6}, {2, 3});
  CHECK(sum(x).item<float>() == 21);
  CHECK(numbers(sum(x, {.axes = {0}})) == std::vector<double>{5, 7, 9});
  CHECK(sum(x, {.axes = {0, -1}, .keepdims = true}).shape() == Shape{1, 1});
  CHECK(numbers(max(x, {.axes = -1})) == std::vector<double>{5, 6});
  CHECK(numbers(argmax(x, {.axes = {1}})) == std::vector<double>{1, 2});
  CHECK(argmin(x).item<int>() == 0);
  CHECK(sum(ones({3}, int8)).dtype() == int64);
  CHECK(sum(ones({3}, boolean)).item<int>() == 3);
  CHECK(sum(ones({3}, int32), {.dtype = f32}).dtype() == f32);
  CHECK(any(x > 5).item<bool>());
  CHECK_FALSE(all(x > 5).item<bool>());
  CHECK(prod(zeros({0})).item<float>() == 1);
  CHECK(sum(x, {.axes = std::vector<std::int64_t>{}}).shape() == Shape{2, 3});
}

TEST_CASE("movement functions put elements where NumPy puts them") {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  CHECK(numbers(pad(x, {1, 0}, {0, 1}, 9)) == std::vector<double>{9, 9, 9, 1, 2, 9, 3, 4, 9});
  CHECK(numbers(concat({x, x + 4}, 1)) == std::vector<double>{1, 2, 5, 6, 3, 4, 7, 8});
  CHECK(concat({ones({2}, int32), ones({1}, f32)}).dtype() == f32);
  CHECK(numbers(stack({floats({1, 2}), floats({3, 4})}, 1)) == std::vector<double>{1, 3, 2, 4});
  CHECK(stack(std::vector<Tensor>{x, x, x}).shape() == Shape{3, 2, 2});
  CHECK(expand_dims(x, 1).shape() == Shape{2, 1, 2});
  CHECK(expand_dims(x, -1).shape() == Shape{2, 2, 1});
  CHECK(squeeze(zeros({1, 2, 1})).shape() == Shape{2});
  CHECK(squeeze(zeros({1, 2, 1}), 0).shape() == Shape{2, 1});
  CHECK(numbers(matrix_transpose(x)) == std::vector<double>{1, 3, 2, 4});
  CHECK(numbers(slice(arange(10), {{-3, {}}})) == std::vector<double>{7, 8, 9});
  CHECK(numbers(slice(arange(10), {{{}, 2, -3}})) == std::vector<double>{9, 6, 3});
}

TEST_CASE("gathers count negative indices from the end and read nothing out of range") {
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(numbers(take(x, ints({2, -3}), 1)) == std::vector<double>{3, 1, 6, 4});
  CHECK(take(x, 1, 0).shape() == Shape{3});
  CHECK(text(take(x, ints({3}), 1)) == text({qnan, qnan}));
  CHECK(numbers(take(ints({5, 6}), ints({-3, 1}), 0)) == std::vector<double>{0, 6});
  CHECK(numbers(take_along_axis(x, from_vector<std::int64_t>({2, 0}, {2, 1}), 1)) ==
        std::vector<double>{3, 4});
}

TEST_CASE("matmul takes matrices, vectors and batches") {
  const Tensor a = floats({1, 2, 3, 4}, {2, 2}), b = floats({5, 6, 7, 8}, {2, 2}), v = floats({1, -1});
  CHECK(numbers(matmul(a, b)) == std::vector<double>{19, 22, 43, 50});
  CHECK(numbers(matmul(a, v)) == std::vector<double>{-1, -1});
  CHECK(numbers(matmul(v, a)) == std::vector<double>{-2, -2});
  CHECK(matmul(v, v).item<float>() == 2);
  CHECK(matmul(ones({5, 1, 2, 3}), ones({4, 3, 2})).shape() == Shape{5, 4, 2, 2});
}

TEST_CASE("operations on nothing give nothing") {
  CHECK((zeros({0, 3}) + 1.0).shape() == Shape{0, 3});
  CHECK(sum(zeros({0, 3}), {.axes = {0}}).to_vector<float>() == std::vector<float>{0, 0, 0});
  CHECK(concat({zeros({0}), ones({2})}).size() == 2);
}
