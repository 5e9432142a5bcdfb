// Both evaluators on values worked out by hand or published, and on the special cases of docs/numerics.md.
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "ir/build.h"
#include "ir/evaluate_reference.h"
#include "ir/evaluate_typed.h"
#include "ir/reference_math.h"
#include "ir/verify.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/arrays.h"

using namespace sinter;
using namespace sinter::ir;
using sinter::testing::array_of;
using sinter::testing::numbers_of;
using sinter::testing::vector_of;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double qnan = std::numeric_limits<double>::quiet_NaN();

/// NaN as itself and the sign of zero told apart.
std::string text(const std::vector<double>& numbers) {
  std::string s;
  for (double v : numbers)
    s += (std::isnan(v) ? std::string("nan") : std::signbit(v) && v == 0 ? "-0" : std::to_string(v)) + " ";
  return s;
}

/// A graph of one function over the arrays, run by both evaluators, which must agree once rounded.
template <class Make>
std::vector<double> run(const std::vector<Array>& inputs, Make make) {
  Graph g;
  std::vector<Value> x;
  for (const Array& a : inputs) {
    Shape shape;
    for (std::int64_t n : a.shape) shape.push_back(n);
    x.push_back(g.input("x", a.dtype, shape));
  }
  g.output(make(g, x));
  verify(g);
  const Array typed = evaluate_typed(g, inputs)[0];
  const Exact exact = evaluate_reference(g, inputs)[0];
  CHECK(exact.dtype == typed.dtype);
  CHECK(exact.shape == typed.shape);
  CHECK(text(numbers_of(exact.rounded())) == text(numbers_of(typed)));
  return numbers_of(typed);
}

std::vector<double> unary(Op op, const Array& a) {
  return run({a}, [&](Graph& g, auto& x) { return elementwise(g, op, std::vector<Operand>{x[0]}); });
}
std::vector<double> binary(Op op, const Array& a, const Array& b) {
  return run({a, b}, [&](Graph& g, auto& x) { return elementwise(g, op, std::vector<Operand>{x[0], x[1]}); });
}
std::vector<double> reduced(Op op, const Array& a, std::vector<std::int64_t> axes, bool keepdims = false) {
  return run({a}, [&](Graph& g, auto& x) { return reduce(g, op, x[0], axes, keepdims); });
}
std::vector<double> converted(DType from, DType to, const std::vector<double>& numbers) {
  return run({vector_of(from, numbers)}, [&](Graph& g, auto& x) { return cast(g, x[0], to); });
}

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("NaN wins in maximum and minimum, and -0 is less than 0") {
  const Array a = vector_of(f32, {qnan, 1, -0.0, 0.0, inf}), b = vector_of(f32, {1, qnan, 0.0, -0.0, qnan});
  CHECK(text(binary(Op::maximum, a, b)) == text({qnan, qnan, 0.0, 0.0, qnan}));
  CHECK(text(binary(Op::minimum, a, b)) == text({qnan, qnan, -0.0, -0.0, qnan}));
}

TEST_CASE("NaN wins in max and min at any position") {
  for (std::size_t at : {0u, 1u, 500u, 4096u, 9998u}) {
    Numbers x(9999, 1);
    x[at] = qnan;
    CHECK(text(reduced(Op::max, vector_of(f32, x), {0})) == text({qnan}));
    CHECK(text(reduced(Op::min, vector_of(f16, x), {0})) == text({qnan}));
  }
}

TEST_CASE("argmax and argmin take the first NaN, else the first of equals") {
  CHECK(reduced(Op::argmax, vector_of(f32, {1, 3, 3, 2}), {0}) == Numbers{1});
  CHECK(reduced(Op::argmin, vector_of(f32, {4, 1, 1, 2}), {0}) == Numbers{1});
  CHECK(reduced(Op::argmax, vector_of(f32, {1, inf, qnan, 2, qnan}), {0}) == Numbers{2});
  CHECK(reduced(Op::argmin, vector_of(bf16, {qnan, -inf}), {0}) == Numbers{0});
  CHECK(reduced(Op::argmax, array_of(int8, {2, 3}, {1, 5, 2, 9, -3, 4}), {0}) == Numbers{1, 0, 1});
  CHECK(reduced(Op::argmax, array_of(int8, {2, 3}, {1, 5, 2, 9, -3, 4}), {0, 1}) == Numbers{3});
}

TEST_CASE("whole numbers wrap in their own dtype") {
  CHECK(binary(Op::add, vector_of(int8, {127, -128}), vector_of(int8, {1, -1})) == Numbers{-128, 127});
  CHECK(binary(Op::mul, vector_of(uint8, {200}), vector_of(uint8, {3})) == Numbers{88});
  CHECK(unary(Op::abs, vector_of(int8, {-128})) == Numbers{-128});
  CHECK(unary(Op::neg, vector_of(int32, {-2147483648.0})) == Numbers{-2147483648.0});
  CHECK(binary(Op::sub, vector_of(uint8, {0}), vector_of(uint8, {1})) == Numbers{255});
}

TEST_CASE("whole-number division follows Python, and by zero gives zero") {
  const Array a = vector_of(int32, {7, -7, 7, -7, 5, -2147483648.0}),
              b = vector_of(int32, {2, 2, -2, -2, 0, -1});
  CHECK(binary(Op::floor_divide, a, b) == Numbers{3, -4, -4, 3, 0, -2147483648.0});
  CHECK(binary(Op::remainder, a, b) == Numbers{1, 1, -1, -1, 0, 0});
  CHECK(binary(Op::div, vector_of(int32, {7, 1}), vector_of(int32, {2, 0})) == Numbers{3.5, inf});
}

TEST_CASE("float division that rounds down follows Python") {
  const Array a = vector_of(f32, {7.5, -7.5, 7.5, -7.5, 1, -1, 0}),
              b = vector_of(f32, {2, 2, -2, -2, inf, inf, -3});
  CHECK(text(binary(Op::floor_divide, a, b)) == text({3, -4, -4, 3, 0, -1, -0.0}));
  CHECK(text(binary(Op::remainder, a, b)) == text({1.5, 0.5, -0.5, -1.5, 1, inf, -0.0}));
}

TEST_CASE("pow of whole numbers wraps, and a negative exponent gives zero but for 1 and -1") {
  CHECK(binary(Op::pow, vector_of(int32, {3, 2, 2, 1, -1, -1, 0}),
               vector_of(int32, {4, 31, -1, -5, -3, -2, 0})) == Numbers{81, -2147483648.0, 0, 1, -1, 1, 1});
}

TEST_CASE("shifts by a count out of range give zero, or -1 to the right of a negative number") {
  const Array count = vector_of(int8, {1, 7, 8, -1, 100});
  CHECK(binary(Op::left_shift, vector_of(int8, {3, 1, 1, 1, 1}), count) == Numbers{6, -128, 0, 0, 0});
  CHECK(binary(Op::right_shift, vector_of(int8, {-3, -128, -1, -5, 5}), count) == Numbers{-2, -1, -1, -1, 0});
}

TEST_CASE("functions of whole numbers and bool are f32") {
  CHECK(unary(Op::exp, vector_of(int64, {0})) == Numbers{1});
  CHECK(unary(Op::sqrt, vector_of(boolean, {1})) == Numbers{1});
}

TEST_CASE("round goes to even, sign keeps NaN, -0 keeps its sign") {
  CHECK(text(unary(Op::round, vector_of(f32, {0.5, 1.5, 2.5, -0.5, -1.5, qnan}))) ==
        text({0, 2, 2, -0.0, -2, qnan}));
  CHECK(text(unary(Op::sign, vector_of(f16, {qnan, -2, 5}))) == text({qnan, -1, 1}));
  CHECK(text(unary(Op::ceil, vector_of(f64, {-0.25}))) == text({-0.0}));
  CHECK(text(unary(Op::sqrt, vector_of(f32, {-0.0, -1}))) == text({-0.0, qnan}));
}

TEST_CASE("casts of floats go toward zero, saturate, and give 0 for NaN") {
  CHECK(converted(f32, int8, {1.9, -1.9, 300, -300, qnan, inf}) == Numbers{1, -1, 127, -128, 0, 127});
  CHECK(converted(f64, uint8, {-5, 255.9, 256}) == Numbers{0, 255, 255});
  CHECK(converted(f32, int64, {1e30f}) == Numbers{9223372036854775807.0});
  CHECK(converted(f32, boolean, {0.5, 0, -0.0, qnan}) == Numbers{1, 0, 0, 1});
}

TEST_CASE("casts of whole numbers wrap, to bool compare with zero, to floats round once") {
  CHECK(converted(int32, int8, {300, -129}) == Numbers{44, 127});
  CHECK(converted(int32, boolean, {256, 0}) == Numbers{1, 0});
  CHECK(converted(int32, f16, {2049, 2051, 65520}) == Numbers{2048, 2052, inf});
  CHECK(converted(int64, f32, {16777217}) == Numbers{16777216});
  // 2^24 + 2^16 + 1 is a hair above the middle of two bf16 numbers; by way of f32 it would be taken for the
  // middle.
  CHECK(converted(int32, bf16, {16777216.0 + 65536 + 1}) == Numbers{16777216.0 + 131072});
}

TEST_CASE("casts between floats round once to nearest even") {
  CHECK(converted(f64, f32, {1 + 0x1p-24, 1 + 0x1.8p-23}) == Numbers{1, 1 + 0x1p-22});
  CHECK(converted(f64, f16, {65519.99, 65520, 0x1p-25, 0x1.8p-24}) == Numbers{65504, inf, 0, 0x1p-23});
  CHECK(converted(f64, bf16, {1 + 0x1p-8 + 0x1p-40}) == Numbers{1 + 0x1p-7});
}

TEST_CASE("sum and prod of narrow whole numbers and bool are int64") {
  CHECK(reduced(Op::sum, vector_of(int8, {127, 127, 127}), {0}) == Numbers{381});
  CHECK(reduced(Op::sum, vector_of(boolean, {1, 0, 1}), {0}) == Numbers{2});
  CHECK(reduced(Op::prod, vector_of(uint8, {200, 200}), {0}) == Numbers{40000});
}

TEST_CASE("16-bit sums accumulate in f32 and round once") {
  CHECK(reduced(Op::sum, vector_of(f16, Numbers(4096, 1)), {0}) == Numbers{4096});
  CHECK(reduced(Op::sum, vector_of(bf16, Numbers(1000, 1)), {0}) == Numbers{1000});
}

TEST_CASE("f32 sums over long rows keep their digits") {
  const std::int64_t n = 1 << 20;
  Array x(f32, {n});
  for (std::int64_t i = 0; i < n; ++i) x.set(i, Scalar::from_real(f32, 0.1L));
  CHECK(reduced(Op::sum, x, {0})[0] ==
        Approx(static_cast<double>(n) * static_cast<double>(0.1f)).epsilon(1e-7));
}

TEST_CASE("reductions fold any axes, with and without keeping them") {
  Numbers x(24);
  for (std::size_t i = 0; i < 24; ++i) x[i] = static_cast<double>(i);
  const Array a = array_of(f32, {2, 3, 4}, x);
  CHECK(reduced(Op::sum, a, {0}) == Numbers{12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34});
  CHECK(reduced(Op::sum, a, {1}) == Numbers{12, 15, 18, 21, 48, 51, 54, 57});
  CHECK(reduced(Op::sum, a, {2}, true) == Numbers{6, 22, 38, 54, 70, 86});
  CHECK(reduced(Op::max, a, {0, 2}) == Numbers{15, 19, 23});
  CHECK(reduced(Op::min, a, {1, 2}) == Numbers{0, 12});
  CHECK(reduced(Op::sum, a, {0, 1, 2}) == Numbers{276});
  CHECK(reduced(Op::sum, a, {}) == x);
}

TEST_CASE("folds of nothing give the identity") {
  const Array none = array_of(f32, {0, 2}, {});
  CHECK(reduced(Op::sum, none, {0}) == Numbers{0, 0});
  CHECK(reduced(Op::prod, none, {0}) == Numbers{1, 1});
  CHECK(reduced(Op::any, none, {0}) == Numbers{0, 0});
  CHECK(reduced(Op::all, none, {0}) == Numbers{1, 1});
  CHECK(reduced(Op::sum, none, {1}).empty());
}

TEST_CASE("movements read the elements that their index maps say") {
  const Array a = array_of(int32, {2, 3}, {1, 2, 3, 4, 5, 6});
  auto moved = [&](auto make) { return run({a}, [&](Graph& g, auto& x) { return make(g, x[0]); }); };
  CHECK(moved([](Graph& g, Value x) { return permute_dims(g, x, {1, 0}); }) == Numbers{1, 4, 2, 5, 3, 6});
  CHECK(moved([](Graph& g, Value x) { return flip(g, x, {{1}}); }) == Numbers{3, 2, 1, 6, 5, 4});
  CHECK(moved([](Graph& g, Value x) {
          return slice(g, x, std::vector<Range>{{1, {}, 1}, {{}, {}, -2}});
        }) == Numbers{6, 4});
  CHECK(moved([](Graph& g, Value x) { return reshape(g, x, {3, -1}); }) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(moved([](Graph& g, Value x) {
          return broadcast_to(g, x, {2, 2, 3});
        }) == Numbers{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  CHECK(moved([](Graph& g, Value x) {
          const std::int64_t before[] = {1, 0}, after[] = {0, 2};
          return pad(g, x, before, after, Literal{std::int64_t{-1}});
        }) == Numbers{-1, -1, -1, -1, -1, 1, 2, 3, -1, -1, 4, 5, 6, -1, -1});
  CHECK(moved([](Graph& g, Value x) {
          return concat(g, std::vector<Value>{x, x}, 1);
        }) == Numbers{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
}

TEST_CASE("gathers count negative indices from the end and read NaN or 0 out of range") {
  const Array x = array_of(f32, {3, 2}, {1, 2, 3, 4, 5, 6}), at = vector_of(int64, {-1, 3, 0, -4});
  CHECK(text(run({x, at}, [](Graph& g, auto& v) { return take(g, v[0], v[1], 0); })) ==
        text({5, 6, qnan, qnan, 1, 2, qnan, qnan}));
  const Array along = array_of(int32, {3, 1}, {1, -2, 7});
  CHECK(text(run({x, along}, [](Graph& g, auto& v) { return take_along_axis(g, v[0], v[1], 1); })) ==
        text({2, 3, qnan}));
  CHECK(run({vector_of(int8, {7}), at}, [](Graph& g, auto& v) { return take(g, v[0], v[1], 0); }) ==
        Numbers{7, 0, 7, 0});
}

TEST_CASE("matmul multiplies matrices, batches and vectors") {
  const Array a = array_of(f32, {2, 3}, {1, 2, 3, 4, 5, 6}), b = array_of(f32, {3, 2}, {7, 8, 9, 10, 11, 12});
  auto product = [](Graph& g, auto& x) { return matmul(g, x[0], x[1]); };
  CHECK(run({a, b}, product) == Numbers{58, 64, 139, 154});
  CHECK(run({a, vector_of(f32, {1, 0, -1})}, product) == Numbers{-2, -2});
  CHECK(run({array_of(int8, {2, 1, 2}, {100, 2, 3, 4}), array_of(int8, {2, 1}, {2, 1})}, product) ==
        Numbers{-54, 10});
  CHECK(run({array_of(f64, {2, 0}, {}), array_of(f64, {0, 1}, {})}, product) == Numbers{0, 0});
}

TEST_CASE("where picks by the condition, and nothing of the other side leaks") {
  const Array c = vector_of(boolean, {1, 0}), a = vector_of(f32, {1, qnan}), b = vector_of(f32, {qnan, 2});
  CHECK(run({c, a, b}, [](Graph& g, auto& x) {
          return elementwise(g, Op::where, std::vector<Operand>{x[0], x[1], x[2]});
        }) == Numbers{1, 2});
}

TEST_CASE("fma rounds once") {
  const double a = 1 + 0x1p-12, c = -(1 + 0x1p-11);
  CHECK(run({vector_of(f32, {a}), vector_of(f32, {c})}, [](Graph& g, auto& x) {
          return elementwise(g, Op::fma, std::vector<Operand>{x[0], x[0], x[1]});
        }) == Numbers{0x1p-24});
}

TEST_CASE("iota counts along its axis") {
  CHECK(run({}, [](Graph& g, auto&) { return iota(g, {2, 3}, 1, f32); }) == Numbers{0, 1, 2, 0, 1, 2});
  CHECK(run({}, [](Graph& g, auto&) { return iota(g, {2, 3}, 0, int8); }) == Numbers{0, 0, 0, 1, 1, 1});
}

TEST_CASE("Philox gives the numbers its authors publish") {
  using Block = std::array<std::uint32_t, 4>;
  CHECK(reference::philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(reference::philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(reference::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random bits start with the published block") {
  const std::vector<double> bits = run({}, [](Graph& g, auto&) {
    const Value zero = g.constant({int64, 0});
    return random_bits(g, zero, zero, {4});
  });
  CHECK(bits[0] == static_cast<double>(std::bit_cast<std::int32_t>(0x6627e8d5)));
  CHECK(bits[1] != bits[0]);
}

TEST_CASE("the reference evaluator keeps a 16-bit chain unrounded until a cast or a discrete op") {
  Graph g;
  const Value x = g.input("x", f16, {1});
  const std::vector<Operand> sum{x, Literal{0x1p-12}};
  const Value y = elementwise(g, Op::add, sum);
  g.output(y);
  g.output(elementwise(g, Op::equal, std::vector<Operand>{y, x}));
  g.output(cast(g, y, bf16));
  const std::vector<Exact> result = evaluate_reference(g, std::vector<Array>{vector_of(f16, {1})});
  CHECK(result[0].reals[0] == 1 + 0x1p-12L);
  CHECK(result[1].wholes[0] == 1);
  CHECK(result[2].reals[0] == 1);
}

TEST_CASE("the typed evaluator rounds at every node") {
  const std::vector<double> y = numbers_of([] {
    Graph g;
    const Value x = g.input("x", f16, {1});
    const Value y = elementwise(g, Op::add, std::vector<Operand>{x, Literal{0x1p-12}});
    g.output(elementwise(g, Op::sub, std::vector<Operand>{y, x}));
    return evaluate_typed(g, std::vector<Array>{vector_of(f16, {1})})[0];
  }());
  CHECK(y == Numbers{0});
}

TEST_CASE("one element evaluates as an array does") {
  const Scalar a = Scalar::from_real(bf16, 1.5L), b = Scalar::from_real(bf16, 2.0L);
  CHECK(evaluate_scalar(Op::mul, std::vector<Scalar>{a, b}) == Scalar::from_real(bf16, 3.0L));
  CHECK(evaluate_scalar(Op::less, std::vector<Scalar>{a, b}) == Scalar::from_whole(boolean, 1));
  const Scalar most = Scalar::from_whole(int8, -128);
  CHECK(evaluate_scalar(Op::neg, std::vector<Scalar>{most}) == most);
  Attrs attrs;
  attrs.dtype = int8;
  CHECK(evaluate_scalar(Op::cast, std::vector<Scalar>{Scalar::from_real(f32, 1e9L)}, attrs).whole() == 127);
  const Scalar yes = Scalar::from_whole(boolean, 1);
  CHECK(evaluate_scalar(Op::where, std::vector<Scalar>{yes, a, b}) == a);
}

TEST_CASE("evaluators refuse inputs that do not fit, and symbolic shapes") {
  Graph g;
  g.output(g.input("x", f32, {2}));
  CHECK_THROWS_AS(evaluate_typed(g, {}), ValueError);
  CHECK_THROWS_AS(evaluate_reference(g, std::vector<Array>{vector_of(f32, {1, 2, 3})}), ValueError);
  CHECK_THROWS_AS(evaluate_typed(g, std::vector<Array>{vector_of(f64, {1, 2})}), ValueError);
  Graph symbolic;
  symbolic.output(symbolic.input("x", f32, {Dim::symbol("M")}));
  CHECK_THROWS_WITH(evaluate_typed(symbolic, std::vector<Array>{vector_of(f32, {1})}),
                    Catch::Matchers::ContainsSubstring("bind the symbols"));
}

TEST_CASE("an output named twice is two arrays, and an input may be one") {
  Graph g;
  const Value x = g.input("x", f32, {2});
  const Value y = g.add(Op::neg, {&x, 1});
  for (Value v : {y, x, y, x}) g.output(v);
  const std::vector<Array> y4 = evaluate_typed(g, std::vector<Array>{vector_of(f32, {1, 2})});
  for (std::size_t i : {0u, 2u}) CHECK(numbers_of(y4[i]) == Numbers{-1, -2});
  for (std::size_t i : {1u, 3u}) CHECK(numbers_of(y4[i]) == Numbers{1, 2});
}
