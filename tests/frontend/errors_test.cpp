// Mistakes, and the messages they give, word by word.
#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// The message of the error of kind E that `f` throws.
template <class E, class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("an error of another kind: ") + error.what();
  }
  return "no error";
}

alignas(64) float words[16];

const Tensor x = ones({2, 3}), y = ones({4}), z = ones({3, 1, 2}), e = zeros({0, 3});
const Tensor i = ones({2, 3}, int32), b = ones({2, 3}, boolean);

}  // namespace

// The statement throws an error of that kind whose message is the text and, behind it, this line.
#define FAILS(kind, statement, text)                 \
  CHECK(message<kind>([&] { (void)(statement); }) == \
        std::string(text) + "\n  at " + __FILE__ + ":" + std::to_string(__LINE__))
// The same for what is no operation and knows no line.
#define FAILS_WITHOUT_LINE(kind, statement, text) CHECK(message<kind>([&] { (void)(statement); }) == (text))

// clang-format off
TEST_CASE("shapes that do not broadcast are named with the axis at fault") {
  FAILS(ShapeError, x + y, "add(f32[2, 3], f32[4]): shapes [2, 3] and [4] do not broadcast: axis -1 has length 3 in one and 4 in the other; lengths must be equal, or one of them 1");
  FAILS(ShapeError, where(b, x, y), "where(bool[2, 3], f32[2, 3], f32[4]): shapes [2, 3] and [4] do not broadcast: axis -1 has length 3 in one and 4 in the other; lengths must be equal, or one of them 1");
  FAILS(ShapeError, x < z, "less(f32[2, 3], f32[3, 1, 2]): shapes [2, 3] and [3, 1, 2] do not broadcast: axis -1 has length 3 in one and 2 in the other; lengths must be equal, or one of them 1");
  FAILS(ShapeError, fma(x, y, 1.0), "fma(f32[2, 3], f32[4], 1): shapes [2, 3] and [4] do not broadcast: axis -1 has length 3 in one and 4 in the other; lengths must be equal, or one of them 1");
  FAILS(ShapeError, clamp(x, y, {}), "maximum(f32[2, 3], f32[4]): shapes [2, 3] and [4] do not broadcast: axis -1 has length 3 in one and 4 in the other; lengths must be equal, or one of them 1");
  FAILS(ShapeError, layer_norm(x, {.weight = y}), "mul(f32[2, 3], f32[4]): shapes [2, 3] and [4] do not broadcast: axis -1 has length 3 in one and 4 in the other; lengths must be equal, or one of them 1");
}

TEST_CASE("axes out of range, or named twice, are named with the range") {
  FAILS(ShapeError, sum(x, {.axes = {2}}), "sum(f32[2, 3]): axis 2 is out of range for a tensor of rank 2; axes go from -2 to 1");
  FAILS(ShapeError, sum(x, {.axes = {0, -2}}), "sum(f32[2, 3]): axis 0 is named twice; each may be named once");
  FAILS(ShapeError, softmax(x, 2), "max(f32[2, 3]): axis 2 is out of range for a tensor of rank 2; axes go from -2 to 1");
  FAILS(ShapeError, mean(x, {.axes = 5}), "sum(f32[2, 3]): axis 5 is out of range for a tensor of rank 2; axes go from -2 to 1");
  FAILS(ShapeError, flip(x, {2}), "flip(f32[2, 3]): axis 2 is out of range for a tensor of rank 2; axes go from -2 to 1");
  FAILS(ShapeError, permute_dims(x, {0, 2}), "permute_dims(f32[2, 3]): axis 2 is out of range for a tensor of rank 2; axes go from -2 to 1");
  FAILS(ShapeError, permute_dims(x, {0, 0}), "permute_dims(f32[2, 3]): axis 0 is named twice; each may be named once");
  FAILS(ShapeError, permute_dims(x, {0}), "permute_dims(f32[2, 3]): needs every axis once, 2 in all, got 1");
  FAILS(ShapeError, concat({x, x}, 2), "concat(f32[2, 3], f32[2, 3]): axis 2 is out of range for a tensor of rank 2; axes go from -2 to 1");
  FAILS(ShapeError, stack({x, x}, 3), "stack(f32[2, 3]) with a new axis: axis 3 is out of range for a tensor of rank 3; axes go from -3 to 2");
  FAILS(ShapeError, expand_dims(x, 4), "expand_dims(f32[2, 3]) with a new axis: axis 4 is out of range for a tensor of rank 3; axes go from -3 to 2");
  FAILS(ShapeError, squeeze(x, 5), "squeeze(f32[2, 3]): axis 5 is out of range for a tensor of rank 2; axes go from -2 to 1");
  FAILS(ShapeError, take(x, i, 2), "take(f32[2, 3], int32[2, 3]): axis 2 is out of range for a tensor of rank 2; axes go from -2 to 1");
}

TEST_CASE("a fold of nothing that has no identity is refused with the axis") {
  FAILS(ValueError, max(e, {.axes = {0}}), "max(f32[0, 3]): axis 0 has no elements, and max of nothing is undefined");
  FAILS(ValueError, argmin(zeros({0})), "argmin(f32[0]): axis 0 has no elements, and argmin of nothing is undefined");
}

TEST_CASE("shapes that do not fit a movement are refused with both") {
  FAILS(ShapeError, reshape(x, {4, 2}), "reshape(f32[2, 3]): has 6 elements, the shape [4, 2] has 8; write -1 for one length to have it worked out");
  FAILS(ShapeError, reshape(x, {-1, -1}), "reshape(f32[2, 3]): only one length of [-1, -1] may be -1");
  FAILS(ShapeError, reshape(x, {-1, 4}), "reshape(f32[2, 3]): 6 elements do not fill the shape [-1, 4] for any whole length in place of -1");
  FAILS(ShapeError, reshape(x, {-2, 3}), "reshape(f32[2, 3]): [-2, 3] is not a shape; one length may be -1, the others are not negative");
  FAILS(ShapeError, broadcast_to(x, {2, 4}), "broadcast_to(f32[2, 3]): cannot be broadcast to [2, 4]: each length must be equal or 1, counted from the last axis");
  FAILS(ShapeError, squeeze(x, 0), "squeeze(f32[2, 3]): axis 0 has length 2; only axes of length 1 can be removed");
  FAILS(ShapeError, matrix_transpose(y), "matrix_transpose(f32[4]): needs two axes or more");
  FAILS(ShapeError, slice(x, {{}, {}, {}}), "slice(f32[2, 3]): 3 ranges for 2 axes");
  FAILS(ShapeError, pad(x, {1}, {1}), "pad(f32[2, 3]): needs one number of elements before per axis, 2 in all, got 1");
  FAILS(ShapeError, pad(x, {-1, 0}, {0, 0}), "pad(f32[2, 3]): cannot pad axis 0 by -1; use slice to shorten");
  FAILS(ShapeError, concat({x, y}), "concat(f32[2, 3], f32[4]): shapes must be equal but for axis 0");
  FAILS(ShapeError, stack({x, y}), "stack: tensors must have one shape, got [2, 3] and [4]");
}

TEST_CASE("values that a movement cannot use are refused") {
  FAILS(ValueError, slice(x, {{.step = 0}}), "slice(f32[2, 3]): the step of axis 0 is 0; it is the distance between elements taken, negative to go backwards");
  FAILS(ValueError, concat(std::vector<Tensor>{}), "concat: needs at least one tensor");
  FAILS(ValueError, stack(std::vector<Tensor>{}), "stack: needs at least one tensor");
}

TEST_CASE("gathers and products name what does not fit") {
  FAILS(ShapeError, take_along_axis(x, ones({3}, int64)), "take_along_axis(f32[2, 3], int64[3]): shapes must be equal but for axis 1");
  FAILS(ShapeError, cross_entropy(x, ones({3}, int64)), "take_along_axis(f32[2, 3], int64[3, 1]): shapes must be equal but for axis 1");
  FAILS(ShapeError, scatter_add(x, ones({3}, int64), 4), "scatter_add(f32[2, 3], int64[3]): the source must have the index's axes in place of axis 0: one slice for each index");
  FAILS(ShapeError, scatter_add(x, ones({2}, int64), 4, 2), "scatter_add(f32[2, 3], int64[2]): axis 2 is out of range for a tensor of rank 2; axes go from -2 to 1");
  FAILS(ShapeError, scatter_add(x, ones({2}, int64), -1), "scatter_add(f32[2, 3], int64[2]): the length -1 is negative");
  FAILS(ShapeError, scatter_add(y, i, 4), "scatter_add(f32[4], int32[2, 3]): the source must have every axis of the index");
  FAILS(ShapeError, index_add(x, ones({4}, int64), ones({4, 2})), "index_add(f32[2, 3]): the source must have the tensor's axes, and the index's in place of axis 0; it is [4, 2]");
  FAILS(ShapeError, matmul(x, x), "matmul(f32[2, 3], f32[2, 3]): the inner lengths differ: 3 columns on the left, 2 rows on the right");
  FAILS(ShapeError, matmul(x, y), "matmul(f32[2, 3], f32[4]): the inner lengths differ: 3 columns on the left, 4 rows on the right");
  FAILS(ShapeError, matmul(x, 1.0), "matmul(f32[2, 3], f32[]): scalars have no matrix product; use multiply");
  FAILS(ShapeError, matmul(ones({2, 2, 3}), ones({3, 3, 2})), "matmul(f32[2, 2, 3], f32[3, 3, 2]): shapes [2] and [3] do not broadcast: axis -1 has length 2 in one and 3 in the other; lengths must be equal, or one of them 1");
  FAILS(ShapeError, linear(x, ones({4, 5})), "matmul(f32[2, 3], f32[5, 4]): the inner lengths differ: 3 columns on the left, 5 rows on the right");
}

TEST_CASE("dtypes that an operation does not admit are refused with those it does") {
  FAILS(DTypeError, b + b, "add(bool[2, 3], bool[2, 3]): admits whole numbers and floats, not bool; convert it with astype first");
  FAILS(DTypeError, -b, "neg(bool[2, 3]): admits whole numbers and floats, not bool; convert it with astype first");
  FAILS(DTypeError, x & x, "bitwise_and(f32[2, 3], f32[2, 3]): admits whole numbers and bool, not f32; convert it with astype first");
  FAILS(DTypeError, x << 1, "left_shift(f32[2, 3], f32[]): admits whole numbers, not f32; convert it with astype first");
  FAILS(DTypeError, ~x, "bitwise_not(f32[2, 3]): admits whole numbers and bool, not f32; convert it with astype first");
  FAILS(DTypeError, scatter_add(b, i, 4), "scatter_add(bool[2, 3], int32[2, 3]): adds whole numbers or floats, not bool; convert the source with astype first");
  FAILS(DTypeError, scatter_add(x, x, 4), "scatter_add(f32[2, 3], f32[2, 3]): the index must be of whole numbers, got f32");
  FAILS(DTypeError, take(x, x, 0), "take(f32[2, 3], f32[2, 3]): the index must be of whole numbers, got f32");
  FAILS(DTypeError, matmul(b, ones({3, 2}, boolean)), "matmul(bool[2, 3], bool[3, 2]): operands must share one dtype of whole numbers or floats; convert them with astype first");
}

TEST_CASE("numbers that a dtype cannot hold are refused") {
  FAILS(DTypeError, i + 3000000000, "add(int32[2, 3], 3000000000): the number 3000000000 does not fit int32; convert the tensor first, or write a number in its range");
  FAILS(DTypeError, ones({2}, int8) + 200, "add(int8[2], 200): the number 200 does not fit int8; convert the tensor first, or write a number in its range");
  FAILS(DTypeError, ones({2}, uint8) * -1, "mul(uint8[2], -1): the number -1 does not fit uint8; convert the tensor first, or write a number in its range");
  FAILS(DTypeError, pad(i, {1, 1}, {1, 1}, 1e30), "pad(int32[2, 3]): the number 1e+30 does not fit int32; convert the tensor first, or write a number in its range");
  FAILS(DTypeError, full({2}, 300, int8), "the number 300 does not fit int8; convert the tensor first, or write a number in its range");
}

TEST_CASE("tensors that cannot be made are refused by the function's name") {
  FAILS(ShapeError, zeros({-1}), "zeros: [-1] is not a shape; lengths are not negative");
  FAILS(ShapeError, full({2}, x), "full: the value is a number or a tensor with one element, got f32[2, 3]");
  FAILS(ShapeError, from_vector<float>({1, 2}, {3}), "from_vector: 2 elements do not fill the shape [3], which has 3");
  FAILS(ShapeError, from_device(words, {2}, {1, 1}, f32), "from_device: 2 strides for the 1 axes of [2]");
}

TEST_CASE("dtypes and values that cannot be made are refused") {
  FAILS(DTypeError, arange(3, boolean), "arange: counts in whole numbers or floats, not in bool; compare the result with something");
  FAILS(DTypeError, rand({2}, int32), "rand: gives a float dtype, not int32; convert the result with astype");
  FAILS(DTypeError, linspace(0, 1, 3, int32), "linspace: gives a float dtype, not int32; convert the result with astype");
}

TEST_CASE("addresses and steps that cannot be used are refused") {
  FAILS(ValueError, arange(0, 3, 0), "arange: the step from 0 to 3 is 0; it is the distance between values");
  FAILS(ValueError, from_device(nullptr, {2}, f32), "from_device: the address is null");
  FAILS(ValueError, Tensor() + 1.0, "a Tensor without content is used: it was made by Tensor{} or moved from; assign one first");
}

TEST_CASE("what asks for values in the wrong way is refused with the right one") {
  FAILS_WITHOUT_LINE(ValueError, bool(x), "the truth of f32[2, 3] is not defined: it has 6 elements, not one; use any(x) or all(x), or array_equal(x, y) to compare whole tensors");
  FAILS_WITHOUT_LINE(ValueError, x.item<float>(), "item() of f32[2, 3]: it has 6 elements, not one; use to_vector()");
  FAILS_WITHOUT_LINE(DTypeError, full({}, 1.5).item<int>(), "item() of f32[] is asked for as a whole number; ask for a C++ type of its kind, or convert with astype");
  FAILS_WITHOUT_LINE(DTypeError, x.data<double>(), "elements of f32[2, 3] are asked for as f64; name the C++ type of the dtype, or convert with astype");
  FAILS_WITHOUT_LINE(ShapeError, x.length(3), "length() of f32[2, 3]: axis 3 is out of range for a tensor of rank 2; axes go from -2 to 1");
}

TEST_CASE("what a compiled function cannot do is refused with what to do instead") {
  const auto f = [](auto ask) { return compile([=](Tensor x) { ask(x); return x; }); };
  FAILS_WITHOUT_LINE(UnsupportedError, f([](Tensor x) { return bool(x); })(x), "the truth of f32[2, 3] is not known while a compiled function is captured, so `if`, `while`, && and || cannot depend on it; choose element by element with where(condition, x, y), or decide outside the function");
  FAILS_WITHOUT_LINE(UnsupportedError, f([](Tensor x) { return x.item<float>(); })(x), "item() of f32[2, 3]: its value is not known while a compiled function is captured; keep computing with the tensor, or return it and call item() outside");
  FAILS_WITHOUT_LINE(UnsupportedError, f([](Tensor x) { return x.data(); })(x), "f32[2, 3] is a value of a compiled function being captured, so its data() cannot be had: it has no memory yet; return it from the function and look at it outside");
  FAILS_WITHOUT_LINE(ValueError, compile([](Tensor) { return Tensor(); }, {.name = "f"})(x), "f: result 0 is a Tensor without content");
}
// clang-format on
