// Tensors in memory: what they say of themselves, their elements, and views.
#include <sstream>

#include "tests/catch.h"
#include "tests/frontend/tensors.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("a tensor knows its dtype, shape, strides and size") {
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(x.dtype() == f32);
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.strides() == Shape{3, 1});
  CHECK(x.rank() == 2);
  CHECK(x.size() == 6);
  CHECK(x.nbytes() == 24);
  CHECK(x.length(-1) == 3);
  CHECK(x.contiguous());
  CHECK(x.device() == Device());
  CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % 64 == 0);
}

TEST_CASE("elements come back as they went in") {
  CHECK(floats({1, 2.5, -3}).to_vector<float>() == std::vector<float>{1, 2.5, -3});
  CHECK(from_vector(std::vector<bool>{true, false}).to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(ints({1, -2}).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, -2});
  const std::vector<bfloat16_t> halves{bfloat16_t(0.5f), bfloat16_t(-2.0f)};
  CHECK(from_vector(halves).to_vector<bfloat16_t>()[1].bits == halves[1].bits);
  CHECK(from_vector(std::vector<float>{}).to_vector<float>().empty());
}

TEST_CASE("item gives the only element of any kind that can hold it") {
  CHECK(floats({2.5}).item<float>() == 2.5f);
  CHECK(floats({2.5}, {1, 1}).item<double>() == 2.5);
  CHECK(full({}, 7).item<int>() == 7);
  CHECK(full({}, 7).item<double>() == 7.0);
  CHECK(full({}, true).item<bool>());
  CHECK(full({}, -1, int8).item<std::int64_t>() == -1);
  CHECK_THROWS_AS(floats({2.5}).item<int>(), DTypeError);
  CHECK_THROWS_AS(full({}, 7).item<bool>(), DTypeError);
  CHECK_THROWS_AS(floats({1, 2}).item<float>(), ValueError);
}

TEST_CASE("a scalar tensor is true when it differs from zero") {
  CHECK(bool(full({}, 2.0)));
  CHECK_FALSE(bool(full({1, 1}, 0)));
  CHECK(bool(full({}, std::nan(""))));
  CHECK_THROWS_AS(bool(floats({1, 1})), ValueError);
}

TEST_CASE("whole tensors are compared by array_equal and allclose") {
  const Tensor x = floats({1, 2}), y = floats({1, 2.00001f});
  CHECK(array_equal(x, floats({1, 2})));
  CHECK_FALSE(array_equal(x, y));
  CHECK_FALSE(array_equal(x, x.astype(f64)));
  CHECK_FALSE(array_equal(x, floats({1, 2}, {2, 1})));
  CHECK(allclose(x, y));
  CHECK_FALSE(allclose(x, y, 0, 1e-8));
  CHECK(allclose(full({}, inf), full({}, inf)));
  CHECK_FALSE(allclose(full({}, 1.0), full({}, inf)));
  CHECK(allclose(full({}, qnan), full({}, qnan)));
}

TEST_CASE("movement of a tensor in memory is a view of the same memory") {
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const float* first = x.data<float>();

  const Tensor transposed = permute_dims(x, {1, 0});
  CHECK(transposed.data() == first);
  CHECK(transposed.strides() == Shape{1, 3});
  CHECK_FALSE(transposed.contiguous());
  CHECK(numbers(transposed) == std::vector<double>{1, 4, 2, 5, 3, 6});

  const Tensor column = slice(x, {{}, {.start = 1, .stop = 2}});
  CHECK(column.data() == first + 1);
  CHECK(numbers(column) == std::vector<double>{2, 5});

  const Tensor reversed = flip(x, {1});
  CHECK(reversed.data() == first + 2);
  CHECK(reversed.strides() == Shape{3, -1});
  CHECK(numbers(reversed) == std::vector<double>{3, 2, 1, 6, 5, 4});

  const Tensor repeated = broadcast_to(floats({7, 8}), {3, 2});
  CHECK(repeated.strides() == Shape{0, 1});
  CHECK(numbers(repeated) == std::vector<double>{7, 8, 7, 8, 7, 8});

  CHECK(reshape(x, {3, -1}).data() == first);
  CHECK(numbers(slice(x, {{}, {.step = -2}})) == std::vector<double>{3, 1, 6, 4});
  CHECK(numbers(flip(flip(x))) == numbers(x));
}

TEST_CASE("a reshape that no strides express copies") {
  const Tensor x = permute_dims(floats({1, 2, 3, 4, 5, 6}, {2, 3}), {1, 0});
  const Tensor y = reshape(x, {6});
  CHECK(y.data() != x.data());
  CHECK(numbers(y) == std::vector<double>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("axes of length 1 and empty tensors have the strides of row-major order") {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  CHECK(slice(x, {{0, 1}}).contiguous());
  CHECK(slice(x, {{0, 1}}).strides() == Shape{2, 1});
  CHECK(permute_dims(floats({1, 2, 3}, {1, 3}), {1, 0}).contiguous());
  CHECK(slice(permute_dims(x, {1, 0}), {{0, 0}}).contiguous());
}

TEST_CASE("foreign memory is used in place and given back once") {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  int given_back = 0;
  {
    Tensor view;
    {
      const Tensor x = from_device(
          memory.data(), {2, 3}, f32,
          [&](void* data) {
            CHECK(data == memory.data());
            ++given_back;
          },
          Device("cpu"));
      CHECK(x.data() == memory.data());
      view = slice(x, {{1, 2}});
    }
    CHECK(given_back == 0);
    CHECK(numbers(view) == std::vector<double>{4, 5, 6});
  }
  CHECK(given_back == 1);
}

TEST_CASE("foreign memory may have any strides") {
  const Device cpu("cpu");
  std::vector<double> memory{1, 2, 3, 4, 5, 6};
  CHECK(numbers(from_device(memory.data() + 5, {3}, {-2}, f64, {}, cpu)) == std::vector<double>{6, 4, 2});
  CHECK(numbers(from_device(memory.data(), {2, 2}, {0, 3}, f64, {}, cpu)) == std::vector<double>{1, 4, 1, 4});
  CHECK(numbers(from_device(memory.data(), {3, 2}, {1, 1}, f64, {}, cpu) * 1.0) ==
        std::vector<double>{1, 2, 2, 3, 3, 4});
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(from_device(memory.data(), {2, 2}, {far, 1}, f64, {}, cpu), ShapeError);
  CHECK_THROWS_AS(from_device(memory.data(), {2}, {std::numeric_limits<std::int64_t>::min()}, f64, {}, cpu),
                  ShapeError);
}

TEST_CASE("a step that leads out of a tensor takes its first element") {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(numbers(slice(x, {{.step = far}})) == std::vector<double>{1, 2, 3});
  CHECK(numbers(slice(x, {{}, {.step = -far - 1}})) == std::vector<double>{3, 6});
  CHECK(numbers(slice(x, {{}, {.start = 1, .step = far}}) + 1) == std::vector<double>{3, 6});
}

TEST_CASE("casts round, wrap and saturate") {
  CHECK(numbers(floats({1.7f, -1.7f, 300, -5}).astype(uint8)) == std::vector<double>{1, 0, 255, 0});
  CHECK(numbers(ints({300, -129}).astype(int8)) == std::vector<double>{44, 127});
  CHECK(numbers(floats({0, 0.5, -0.0f}).astype(boolean)) == std::vector<double>{0, 1, 0});
  CHECK(text(full({}, qnan).astype(int32)) == text(std::vector<double>{0}));
  CHECK(floats({1.00390625f}).to(bf16).item<float>() == 1.0f);
  const Tensor x = floats({1});
  CHECK(x.astype(f32).data() == x.data());
}

TEST_CASE("a tensor prints its dtype, shape and values") {
  CHECK(floats({1, 2.5f, -0.0f}).str() == "f32[3] [1, 2.5, -0]");
  CHECK(floats({1, 2, 3, 4}, {2, 2}).str() == "f32[2, 2]\n[[1, 2],\n [3, 4]]");
  CHECK(full({}, true).str() == "bool[] true");
  CHECK(floats({}, {0}).str() == "f32[0] []");
  CHECK(arange(2000).str() == "int64[2000] [0, 1, 2, ..., 1997, 1998, 1999]");
  CHECK(zeros({2, 0}).str() == "f32[2, 0]\n[[],\n []]");
  CHECK(zeros({100'000, 0}).str() == "f32[100000, 0]\n[[],\n [],\n [],\n ...,\n [],\n [],\n []]");
  CHECK(zeros({std::int64_t{1} << 62, 0}).str().size() < 100);
  CHECK(Tensor().str() == "no tensor");
  std::ostringstream out;
  out << full({1}, 0.1f, f32) << full({1}, 0.1, f64);
  CHECK(out.str() == "f32[1] [0.1]f64[1] [0.1]");
}

TEST_CASE("a tensor without content says so") {
  const Tensor none;
  CHECK_FALSE(none.defined());
  CHECK_THROWS_WITH(none.shape(), Catch::Matchers::ContainsSubstring("made by Tensor{}"));
  CHECK_THROWS_AS(none + 1.0, ValueError);
}

TEST_CASE("the version is that of the build") {
  CHECK(std::string(version) == SINTER_VERSION);
  CHECK(SINTER_VERSION_NUMBER == version_major * 10000 + version_minor * 100 + version_patch);
}

TEST_CASE("a device that is not there is refused with what is missing") {
  CHECK(Device("cpu").name() == "cpu");
  CHECK(Device("cpu").architecture() == "cpu");
  if (!runtime::cuda_state().usable())
    CHECK_THROWS_WITH(Device("cuda"), Catch::Matchers::ContainsSubstring(runtime::cuda_state().reason));
  CHECK_THROWS_AS(Device("cuda:63"), DeviceError);
  CHECK_THROWS_AS(Device("tpu"), DeviceError);
  CHECK_THROWS_WITH(StreamScope(nullptr, Device("cpu")), Catch::Matchers::ContainsSubstring("has none"));
  synchronize();
}
