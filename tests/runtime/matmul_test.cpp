#include "runtime/matmul.h"

#include <cmath>
#include <cstring>
#include <random>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using namespace sinter::runtime;
using sinter::testing::CapturedLog;
using sinter::testing::ScopedEnvironment;

namespace {

const Blas no_library;

/// Elements of T, with addresses as a StridedMatrix computes them.
template <class T>
struct Matrices {
  std::vector<T> data;
  std::int64_t offset = 0, batch = 0, row = 0, column = 0;

  const T& at(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(offset + b * batch + i * row + j * column)];
  }
  StridedMatrix view() const { return {data.data() + offset, batch, row, column}; }
  MutableMatrix mutable_view() { return {data.data() + offset, batch, row, column}; }
};

enum class Layout { rows, columns, padded, reversed, every_other, broadcast };

template <class T>
T value_of(std::mt19937& random) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(random());
  else
    return static_cast<T>(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 512.0f);
}

template <class T>
Matrices<T> make(Layout layout, std::int64_t batch, std::int64_t rows, std::int64_t columns, unsigned seed) {
  Matrices<T> m;
  switch (layout) {
    case Layout::rows:
      m.row = columns, m.column = 1, m.batch = rows * columns;
      break;
    case Layout::columns:
      m.row = 1, m.column = rows, m.batch = rows * columns;
      break;
    case Layout::padded:
      m.row = columns + 3, m.column = 1, m.batch = rows * (columns + 3) + 5;
      break;
    case Layout::reversed:
      m.row = -columns, m.column = 1, m.batch = rows * columns, m.offset = (rows - 1) * columns;
      break;
    case Layout::every_other:
      m.row = 2 * columns, m.column = 2, m.batch = 2 * rows * columns;
      break;
    case Layout::broadcast:
      m.row = 0, m.column = 1, m.batch = 0;
      break;
  }
  std::mt19937 random(seed);
  m.data.resize(static_cast<std::size_t>(batch * 2 * rows * (columns + 5) + 16));
  for (T& element : m.data) element = value_of<T>(random);
  return m;
}

/// The sum of products in long double, or in int64 with wrap, and the sum of their magnitudes.
template <class T>
std::pair<long double, long double> reference(const Matrices<T>& a, const Matrices<T>& b, std::int64_t batch,
                                              std::int64_t i, std::int64_t j, std::int64_t k) {
  if constexpr (std::is_integral_v<T>) {
    std::uint64_t sum = 0;
    for (std::int64_t p = 0; p < k; ++p)
      sum += static_cast<std::uint64_t>(a.at(batch, i, p)) * static_cast<std::uint64_t>(b.at(batch, p, j));
    return {static_cast<long double>(static_cast<T>(sum)), 0};
  } else {
    using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
    long double sum = 0, magnitude = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      const long double product = static_cast<long double>(static_cast<Wide>(a.at(batch, i, p))) *
                                  static_cast<long double>(static_cast<Wide>(b.at(batch, p, j)));
      sum += product;
      magnitude += std::fabs(product);
    }
    return {sum, magnitude};
  }
}

template <class T>
bool close(T got, std::pair<long double, long double> expected) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<long double>(got) == expected.first;
  } else {
    using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
    const long double unit = sizeof(T) == 8 ? 0x1p-53L : 0x1p-24L;
    const long double half_ulp = std::is_same_v<T, float16_t>    ? 0x1p-11L
                                 : std::is_same_v<T, bfloat16_t> ? 0x1p-8L
                                                                 : 0;
    const auto value = static_cast<long double>(static_cast<Wide>(got));
    return std::fabs(value - expected.first) <=
           16 * unit * expected.second + half_ulp * std::fabs(expected.first) + 0x1p-25L * (half_ulp > 0);
  }
}

template <class T>
void check_product(const MatmulShape& shape, Layout la, Layout lb, Layout lc, const Blas* library) {
  const auto a = make<T>(la, shape.batch, shape.m, shape.k, 1),
             b = make<T>(lb, shape.batch, shape.k, shape.n, 2);
  auto c = make<T>(lc, shape.batch, shape.m, shape.n, 3);
  const auto before = c;
  if (library != nullptr)
    matmul(dtype_of<T>, shape, a.view(), b.view(), c.mutable_view(), *library);
  else
    matmul(dtype_of<T>, shape, a.view(), b.view(), c.mutable_view());
  std::vector<bool> written(c.data.size());
  int wrong = 0;
  for (std::int64_t batch = 0; batch < shape.batch; ++batch)
    for (std::int64_t i = 0; i < shape.m; ++i)
      for (std::int64_t j = 0; j < shape.n; ++j) {
        wrong += !close(c.at(batch, i, j), reference(a, b, batch, i, j, shape.k));
        written[static_cast<std::size_t>(&c.at(batch, i, j) - c.data.data())] = true;
      }
  for (std::size_t i = 0; i < c.data.size(); ++i)
    if (!written[i]) wrong += std::memcmp(&c.data[i], &before.data[i], sizeof(T)) != 0;
  CHECK(wrong == 0);
}

const std::vector<MatmulShape> shapes{{1, 1, 1, 1},   {1, 3, 4, 5},     {3, 7, 1, 9},   {2, 1, 8, 6},
                                      {1, 65, 33, 1}, {2, 17, 19, 300}, {0, 3, 3, 3},   {1, 0, 4, 2},
                                      {1, 5, 6, 0},   {1, 300, 600, 3}, {1, 2, 3, 1500}};

}  // namespace

TEMPLATE_TEST_CASE("products are right for every dtype, shape and layout, with the library and without", "",
                   double, float, float16_t, bfloat16_t, std::int8_t, std::uint8_t, std::int32_t,
                   std::int64_t) {
  const Blas* library = GENERATE(as<const Blas*>{}, nullptr, &no_library);
  for (const MatmulShape& shape : shapes)
    for (const auto& [la, lb, lc] : std::vector<std::tuple<Layout, Layout, Layout>>{
             {Layout::rows, Layout::rows, Layout::rows},
             {Layout::rows, Layout::columns, Layout::rows},
             {Layout::columns, Layout::rows, Layout::padded},
             {Layout::columns, Layout::columns, Layout::columns},
             {Layout::padded, Layout::reversed, Layout::every_other},
             {Layout::every_other, Layout::padded, Layout::reversed},
             {Layout::broadcast, Layout::every_other, Layout::rows},
             {Layout::reversed, Layout::broadcast, Layout::rows}})
      check_product<TestType>(shape, la, lb, lc, library);
}

TEST_CASE("a product does not depend on the number of threads") {
  const MatmulShape shape{2, 300, 1100, 70};
  const auto a = make<float>(Layout::rows, 2, 300, 70, 1), b = make<float>(Layout::columns, 2, 70, 1100, 2);
  const auto run = [&](const std::string& threads) {
    const ScopedEnvironment environment{{"SINTER_THREADS", threads}};
    auto c = make<float>(Layout::rows, 2, 300, 1100, 3);
    matmul(f32, shape, a.view(), b.view(), c.mutable_view());
    return c.data;
  };
  const auto one = run("1");
  CHECK(std::memcmp(one.data(), run("4").data(), one.size() * sizeof(float)) == 0);
}

TEST_CASE("16-bit products are rounded once") {
  // 2048 + 1 + 1 in f16: rounding after each sum would give 2048.
  const std::vector<float16_t> a{float16_t(2048.0f), float16_t(1.0f), float16_t(1.0f)}, b(3, float16_t(1.0f));
  float16_t c;
  matmul(f16, {1, 1, 1, 3}, {a.data(), 0, 3, 1}, {b.data(), 0, 1, 1}, {&c, 0, 1, 1});
  CHECK(static_cast<float>(c) == 2050.0f);
}

TEST_CASE("every f16 and bf16 value goes through a product by one") {
  const auto check = [](auto type) {
    using T = decltype(type);
    std::vector<T> values(65536), result(65536);
    for (std::size_t i = 0; i < values.size(); ++i) values[i].bits = static_cast<std::uint16_t>(i);
    const T one(1.0f);
    matmul(dtype_of<T>, {1, 65536, 1, 1}, {values.data(), 0, 1, 1}, {&one, 0, 1, 1}, {result.data(), 0, 1, 1},
           no_library);
    int wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float x = static_cast<float>(values[i]), y = static_cast<float>(result[i]);
      // The sum begins with +0, to which -0 adds up to +0.
      wrong += std::isnan(x) ? !std::isnan(y) : x != y;
    }
    CHECK(wrong == 0);
  };
  check(float16_t{});
  check(bfloat16_t{});
}

TEST_CASE("NaN and infinity in an operand come out where they belong") {
  const Blas* library = GENERATE(as<const Blas*>{}, &blas(), &no_library);
  const float nan = std::nanf(""), inf = INFINITY;
  const std::vector<float> a{1, 0, nan, 0, inf, 0}, b{0, 0, 0, 1};
  std::vector<float> c(6, 5.0f);
  matmul(f32, {1, 3, 2, 2}, {a.data(), 0, 2, 1}, {b.data(), 0, 2, 1}, {c.data(), 0, 2, 1}, *library);
  CHECK((c[0] == 0 && c[1] == 0));
  CHECK((std::isnan(c[2]) && std::isnan(c[3])));
  CHECK((std::isnan(c[4]) && std::isnan(c[5])));
}

TEST_CASE("a long sum in f32 without the library stays accurate") {
  constexpr std::int64_t k = 1 << 20;
  const std::vector<float> a(k, 0.1f), b(k, 1.0f);
  float c = 0;
  matmul(f32, {1, 1, 1, k}, {a.data(), 0, k, 1}, {b.data(), 0, 1, 1}, {&c, 0, 1, 1}, no_library);
  CHECK(c == Approx(0.1f * k).epsilon(1e-4));
}

TEST_CASE("without OpenBLAS there is one warning, which says what was searched") {
  const CapturedLog log;
  for (int i = 0; i < 2; ++i) CHECK(load_blas({"libno_such_blas.so.0", "libc.so.6"}).f32 == nullptr);
  CHECK(log.lines().size() == 1);
  CHECK(log.count("libno_such_blas.so.0") == 1);
  CHECK(log.count("libc.so.6: has no C interface (cblas)") == 1);
  CHECK(log.count("install libopenblas0") == 1);
}
