// Matrix products by cuBLASLt against products in f64 on the CPU, over dtypes, layouts, lengths and offsets.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/cuda_matmul.h"
#include "tests/catch.h"
#include "tests/support/gpu.h"
#include "tests/support/random.h"
#include "tests/support/sandbox.h"

namespace sinter::runtime::cuda {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::need_gpu;

void ok(cudaError_t error) {
  INFO(cudaGetErrorString(error));
  REQUIRE(error == cudaSuccess);
}

/// Memory of the GPU with the host's view of it.
class Shared {
 public:
  explicit Shared(std::size_t bytes) : host_(bytes) { ok(cudaMalloc(&device_, bytes + 1)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { cudaFree(device_); }

  std::byte* host() { return host_.data(); }
  std::byte* device() { return static_cast<std::byte*>(device_); }
  void send() { ok(cudaMemcpy(device_, host_.data(), host_.size(), cudaMemcpyHostToDevice)); }
  void fetch() { ok(cudaMemcpy(host_.data(), device_, host_.size(), cudaMemcpyDeviceToHost)); }

 private:
  std::vector<std::byte> host_;
  void* device_ = nullptr;
};

template <class F>
auto visit_float(DType dtype, F f) {
  if (dtype == DType::f16) return f(float16_t{});
  if (dtype == DType::bf16) return f(bfloat16_t{});
  if (dtype == DType::f32) return f(float{});
  return f(double{});
}

double get(DType dtype, const std::byte* from, std::int64_t i) {
  return visit_float(dtype, [&](auto zero) {
    decltype(zero) value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    if constexpr (sizeof value == 2)
      return static_cast<double>(static_cast<float>(value));
    else
      return static_cast<double>(value);
  });
}

void put(DType dtype, std::byte* to, std::int64_t i, double number) {
  visit_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T value = [&] {
      if constexpr (sizeof(T) == 2)
        return T(static_cast<float>(number));
      else
        return static_cast<T>(number);
    }();
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
    return 0;
  });
}

double epsilon(DType dtype) {
  return dtype == DType::f16    ? 0x1p-11
         : dtype == DType::bf16 ? 0x1p-8
         : dtype == DType::f32  ? 0x1p-24
                                : 0x1p-53;
}

/// Where a matrix of a batch lies: strides in elements, and elements before the first.
struct Layout {
  std::int64_t batch, row, column, offset = 0;
  std::int64_t at(std::int64_t matrix, std::int64_t i, std::int64_t j) const {
    return offset + matrix * batch + i * row + j * column;
  }
};

Layout by_rows(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0, std::int64_t offset = 0) {
  return {rows * (columns + gap), columns + gap, 1, offset};
}
Layout by_columns(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0, std::int64_t offset = 0) {
  return {columns * (rows + gap), 1, rows + gap, offset};
}

std::int64_t elements_of(const Layout& l, std::int64_t batch, std::int64_t rows, std::int64_t columns) {
  return batch * rows * columns == 0 ? 1 : l.at(batch - 1, rows - 1, columns - 1) + 1;
}

struct Case {
  DType dtype;
  MatmulShape shape;
  Layout a, b, c;
  bool bias = false, tf32 = false, workspace = true;
};

Case plain(DType dtype, const MatmulShape& s) {
  return {dtype, s, by_rows(s.m, s.k), by_rows(s.k, s.n), by_rows(s.m, s.n)};
}

void check(const Case& t) {
  const MatmulShape& s = t.shape;
  INFO(name(t.dtype) << " " << s.batch << " x " << s.m << " x " << s.k << " x " << s.n << ", a " << t.a.row
                     << " " << t.a.column << ", b " << t.b.row << " " << t.b.column << ", bias " << t.bias);
  const auto size = static_cast<std::int64_t>(size_of(t.dtype));
  const auto bytes = [&](const Layout& l, std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(elements_of(l, s.batch, rows, columns) * size);
  };
  Shared a(bytes(t.a, s.m, s.k)), b(bytes(t.b, s.k, s.n)), c(bytes(t.c, s.m, s.n)),
      bias(static_cast<std::size_t>((s.n + 1) * size)), workspace(matmul_workspace_bytes);
  testing::Random random(7);
  for (auto [memory, layout, rows, columns] :
       {std::tuple(&a, &t.a, s.m, s.k), std::tuple(&b, &t.b, s.k, s.n)}) {
    const std::int64_t count = elements_of(*layout, s.batch, rows, columns);
    for (std::int64_t i = 0; i < count; ++i) put(t.dtype, memory->host(), i, 2 * random.uniform() - 1);
    memory->send();
  }
  const std::int64_t result_elements = elements_of(t.c, s.batch, s.m, s.n);
  for (std::int64_t i = 0; i < result_elements; ++i) put(t.dtype, c.host(), i, 77);
  for (std::int64_t j = 0; j < s.n; ++j) put(t.dtype, bias.host(), j, 16 * random.uniform() - 8);
  c.send();
  bias.send();
  const auto operand = [&](Shared& memory, const Layout& l) {
    return StridedMatrix{memory.device() + l.offset * size, l.batch, l.row, l.column};
  };
  MatmulOptions options;
  options.tf32 = t.tf32;
  if (t.bias) options.bias = bias.device();
  if (t.workspace) {
    options.workspace = workspace.device();
    options.workspace_bytes = matmul_workspace_bytes;
  }
  matmul(t.dtype, s, operand(a, t.a), operand(b, t.b),
         {c.device() + t.c.offset * size, t.c.batch, t.c.row, t.c.column}, options, nullptr, 0);
  ok(cudaDeviceSynchronize());
  c.fetch();

  const double sum_epsilon = t.dtype == DType::f64 ? 0x1p-53 : t.tf32 ? 0x1p-10 : 0x1p-24;
  std::vector<bool> written(static_cast<std::size_t>(result_elements), false);
  for (std::int64_t q = 0; q < s.batch; ++q)
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        const double added = t.bias ? get(t.dtype, bias.host(), j) : 0;
        double sum = added, magnitude = std::fabs(added);
        for (std::int64_t p = 0; p < s.k; ++p) {
          const double product =
              get(t.dtype, a.host(), t.a.at(q, i, p)) * get(t.dtype, b.host(), t.b.at(q, p, j));
          sum += product;
          magnitude += std::fabs(product);
        }
        const double got = get(t.dtype, c.host(), t.c.at(q, i, j));
        const double bound = epsilon(t.dtype) * std::fabs(sum) * 1.01 +
                             2 * sum_epsilon * (std::sqrt(static_cast<double>(s.k)) + 2) * magnitude;
        written[static_cast<std::size_t>(t.c.at(q, i, j))] = true;
        if (std::fabs(got - sum) <= bound) continue;
        FAIL_CHECK("at " << q << ", " << i << ", " << j << ": " << got << " for " << sum << ", bound "
                         << bound);
        return;
      }
  for (std::int64_t i = 0; i < result_elements; ++i)
    if (!written[static_cast<std::size_t>(i)] && get(t.dtype, c.host(), i) != 77) {
      FAIL_CHECK("written between the results, at " << i);
      return;
    }
}

constexpr DType floats[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

TEST_CASE("a GPU's products agree with f64 on the CPU for all dtypes and lengths", "[cuda]") {
  need_gpu();
  for (DType dtype : floats)
    for (const MatmulShape& shape : {MatmulShape{1, 64, 64, 64},
                                     {1, 1, 1, 1},
                                     {1, 1, 33, 7},
                                     {1, 65, 1, 9},
                                     {1, 5, 3, 1},
                                     {1, 31, 63, 127},
                                     {1, 128, 256, 512},
                                     {3, 17, 9, 33},
                                     {1, 2, 3, 4096}})
      check(plain(dtype, shape));
}

TEST_CASE("a GPU's products take rows or columns that are dense, with gaps between them", "[cuda]") {
  need_gpu();
  const MatmulShape s{2, 24, 40, 56};
  for (DType dtype : floats)
    for (bool a_rows : {true, false})
      for (bool b_rows : {true, false})
        for (bool c_rows : {true, false})
          for (std::int64_t gap : {0, 3, 8}) {
            Case t = plain(dtype, s);
            t.a = a_rows ? by_rows(s.m, s.k, gap) : by_columns(s.m, s.k, gap);
            t.b = b_rows ? by_rows(s.k, s.n, gap) : by_columns(s.k, s.n, gap);
            t.c = c_rows ? by_rows(s.m, s.n, gap) : by_columns(s.m, s.n, gap);
            check(t);
          }
}

TEST_CASE("a GPU's products take any address that the dtype allows", "[cuda]") {
  need_gpu();
  for (DType dtype : floats)
    for (std::int64_t offset : {1, 2, 3, 5}) {
      const MatmulShape s{1, 32, 48, 64};
      Case t = plain(dtype, s);
      t.a = by_rows(s.m, s.k, 0, offset);
      t.b = by_columns(s.k, s.n, 0, offset + 1);
      t.c = by_rows(s.m, s.n, 0, offset + 2);
      check(t);
    }
}

TEST_CASE("a batch of a GPU's products may repeat an operand", "[cuda]") {
  need_gpu();
  const MatmulShape s{5, 24, 40, 56};
  for (DType dtype : floats) {
    Case t = plain(dtype, s);
    t.b.batch = 0;
    check(t);  // one product of all rows
    t.a = by_columns(s.m, s.k);
    check(t);
    t = plain(dtype, s);
    t.a.batch = 0;
    check(t);
  }
}

TEST_CASE("a GPU's products add a bias to every row before they round", "[cuda]") {
  need_gpu();
  const auto check_both = [](DType dtype, const MatmulShape& s) {
    Case t = plain(dtype, s);
    t.bias = true;
    check(t);
    t.b = by_columns(s.k, s.n);
    check(t);
  };
  for (const MatmulShape& s :
       {MatmulShape{1, 33, 7, 19}, {1, 1, 1, 1}, {1, 64, 1, 64}, {3, 5, 9, 3}, {1, 257, 65, 33}})
    check_both(DType::f32, s);
  // 16-bit rows of whole 16 bytes, as passes/join_bias.h has it.
  for (DType dtype : {DType::f16, DType::bf16, DType::f32})
    for (std::int64_t m : {1, 3, 8, 33, 64, 130})
      for (std::int64_t n : {8, 16, 24, 40, 64, 264})
        for (std::int64_t k : {8, 16, 40, 64, 520}) check_both(dtype, {1, m, n, k});
  check_both(DType::bf16, {3, 16, 24, 32});
}

TEST_CASE("an empty sum gives zeros, and an empty product nothing", "[cuda]") {
  need_gpu();
  for (DType dtype : floats) {
    check(plain(dtype, {2, 3, 5, 0}));
    check(plain(dtype, {2, 0, 5, 4}));
    check(plain(dtype, {0, 3, 5, 4}));
  }
}

TEST_CASE("f32 products are IEEE unless TF32 is allowed", "[cuda]") {
  need_gpu();
  Case t = plain(DType::f32, {1, 256, 256, 256});
  check(t);
  t.tf32 = true;
  check(t);
}

TEST_CASE("products need no working memory", "[cuda]") {
  need_gpu();
  for (DType dtype : floats) {
    Case t = plain(dtype, {1, 40, 24, 2048});
    t.workspace = false;
    check(t);
  }
}

TEST_CASE("cuBLASLt takes a matrix in place where its rows or its columns are dense") {
  CHECK(takes_in_place(4, 5, 5, 1));
  CHECK(takes_in_place(4, 5, 9, 1));
  CHECK(takes_in_place(4, 5, 1, 4));
  CHECK(takes_in_place(1, 5, -3, 1));  // the stride of one row says nothing
  CHECK(takes_in_place(1, 5, 0, 2));
  CHECK(takes_in_place(4, 1, 2, 0));
  CHECK(takes_in_place(0, 5, 5, 1));
  CHECK_FALSE(takes_in_place(4, 5, 0, 1));  // one row, repeated
  CHECK_FALSE(takes_in_place(4, 5, 4, 1));  // rows that overlap
  CHECK_FALSE(takes_in_place(4, 5, 10, 2));
  CHECK_FALSE(takes_in_place(4, 5, -5, 1));
  CHECK_FALSE(takes_in_place(4, 5, 5, -1));
}

TEST_CASE("without cuBLASLt a message says where it was looked for and what to set") {
  const testing::TemporaryDirectory empty;
  const CublasLt none = load_cublaslt(empty.path());
  CHECK_FALSE(none.usable());
  for (const char* text : {"cuBLASLt", "SINTER_CUBLASLT", "libcublasLt.so"})
    CHECK_THAT(none.reason, ContainsSubstring(text));
  CHECK_THAT(none.reason, ContainsSubstring(empty.path()));
  CHECK_THAT(load_cublaslt("").reason, ContainsSubstring("SINTER_CUBLASLT is off"));
}

}  // namespace
}  // namespace sinter::runtime::cuda
