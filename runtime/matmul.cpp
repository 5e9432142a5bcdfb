#include "runtime/matmul.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "ir/base/check.h"
#include "runtime/thread_pool.h"

namespace sinter::runtime {
namespace {

// A block of C that one call of the library computes. Large enough that packing costs little beside it.
constexpr std::int64_t block_rows = 256, block_columns = 512;
// Depth of the blocks that packed operands are cut to, so that they stay in the caches.
constexpr std::int64_t packed_depth = 1024;
// A task should be worth some tens of microseconds.
constexpr std::int64_t task_flops = 1 << 20;

/// The type that products of T are computed in. Whole numbers are unsigned, where overflow wraps.
template <class T>
struct Accumulator {
  using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};
template <>
struct Accumulator<float> {
  using type = float;
};
template <>
struct Accumulator<double> {
  using type = double;
};
template <>
struct Accumulator<float16_t> {
  using type = float;
};
template <>
struct Accumulator<bfloat16_t> {
  using type = float;
};

/// The float with the value of an f16, without branches, so that loops of it are vectorised.
float widen(float16_t value) {
  const std::uint32_t magnitude = (value.bits & 0x7fffu) << 13, sign = (value.bits & 0x8000u) << 16;
  // The exponent's bias is put right by a product, which also makes subnormals normal.
  const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const std::uint32_t special = (value.bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(sign | scaled | special);
}
float widen(bfloat16_t value) {
  return static_cast<float>(value);
}
template <class T>
typename Accumulator<T>::type widen(T value) {
  return static_cast<typename Accumulator<T>::type>(value);
}

/// One matrix as the library takes it.
template <class C>
struct Operand {
  const C* data;
  int stride;
  bool transposed;
};

/// Copies rows x columns elements to a dense block, as the type they are computed in. The block is transposed
/// where that is how they lie in memory.
template <class T, class C>
Operand<C> pack(const T* from, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
                C* to) {
  const bool transposed = row == 1 && column != 1;
  if (transposed) {
    std::swap(row, column);
    std::swap(rows, columns);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* const in = from + i * row;
    C* const out = to + i * columns;
    if (column == 1)
      for (std::int64_t j = 0; j < columns; ++j) out[j] = widen(in[j]);
    else
      for (std::int64_t j = 0; j < columns; ++j) out[j] = widen(in[j * column]);
  }
  return {to, static_cast<int>(columns), transposed};
}

constexpr bool fits_int(std::int64_t value) {
  return value > 0 && value <= std::numeric_limits<int>::max();
}

/// Whether the library can read rows x columns elements of these strides in place, and how.
template <class C>
bool in_place(const C* data, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
              Operand<C>& operand) {
  if (columns == 1) column = 1;
  if (rows == 1) row = column == 1 ? columns : 1;  // a single row has any stride we like
  if (column == 1 && row >= columns && fits_int(row)) {
    operand = {data, static_cast<int>(row), false};
    return true;
  }
  if (row == 1 && column >= rows && fits_int(column)) {
    operand = {data, static_cast<int>(column), true};
    return true;
  }
  return false;
}

/// The library's product where there is none: rows of B are added up, in two levels so that rounding errors
/// of long sums stay small.
template <class C>
void plain_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, const C* a, int lda, const C* b,
                int ldb, C beta, C* c, int ldc) {
  constexpr std::ptrdiff_t depth = 128;
  const std::ptrdiff_t a_row = transpose_a ? 1 : lda, a_column = transpose_a ? lda : 1, columns = n;
  const Scratch partial_sums(sizeof(C) * static_cast<std::size_t>(n));
  const Scratch panel(transpose_b ? sizeof(C) * static_cast<std::size_t>(depth * n) : 0);
  C* const partial = partial_sums.template as<C>();
  if (beta == C{0})
    for (std::ptrdiff_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, C{0});
  for (std::ptrdiff_t begin = 0; begin < k; begin += depth) {
    const std::ptrdiff_t count = std::min<std::ptrdiff_t>(depth, k - begin);
    const C* rows = b + begin * ldb;
    std::ptrdiff_t stride = ldb;
    if (transpose_b) {
      C* const to = panel.template as<C>();
      for (std::ptrdiff_t j = 0; j < columns; ++j)
        for (std::ptrdiff_t p = 0; p < count; ++p) to[p * columns + j] = b[j * ldb + begin + p];
      rows = to;
      stride = columns;
    }
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      std::fill_n(partial, n, C{0});
      for (std::ptrdiff_t p = 0; p < count; ++p) {
        const C factor = a[i * a_row + (begin + p) * a_column];
        for (std::ptrdiff_t j = 0; j < columns; ++j) partial[j] += factor * rows[p * stride + j];
      }
      for (std::ptrdiff_t j = 0; j < columns; ++j) c[i * ldc + j] += partial[j];
    }
  }
}

template <class C>
Gemm<C> choose([[maybe_unused]] const Blas& library) {
  if constexpr (std::is_same_v<C, float>)
    if (library.f32 != nullptr) return library.f32;
  if constexpr (std::is_same_v<C, double>)
    if (library.f64 != nullptr) return library.f64;
  return plain_gemm<C>;
}

/// A block of one matrix of C, and the rows of A and columns of B it is made of.
template <class T>
struct Block {
  const T* a;
  std::int64_t a_row, a_column;
  const T* b;
  std::int64_t b_row, b_column;
  T* c;
  std::int64_t c_row, c_column;
  std::int64_t m, n, k;
};

template <class T>
void compute_block(const Block<T>& x, Gemm<typename Accumulator<T>::type> gemm) {
  using C = typename Accumulator<T>::type;
  constexpr bool same = std::is_same_v<T, C>;
  const auto direct = [](const T* data, std::int64_t row, std::int64_t column, std::int64_t rows,
                         std::int64_t columns, Operand<C>& operand) {
    if constexpr (same) return in_place<C>(data, row, column, rows, columns, operand);
    return false;
  };
  Operand<C> a{}, b{}, c{};
  const bool a_direct = direct(x.a, x.a_row, x.a_column, x.m, x.k, a);
  const bool b_direct = direct(x.b, x.b_row, x.b_column, x.k, x.n, b);
  const bool c_direct = direct(x.c, x.c_row, x.c_column, x.m, x.n, c) && !c.transposed;
  const bool packs = !a_direct || !b_direct || x.k > std::numeric_limits<int>::max();
  const std::int64_t depth = packs ? std::min(x.k, packed_depth) : x.k;

  const auto bytes = [](std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(C); };
  const Scratch packed_a(a_direct ? 0 : bytes(x.m * depth)), packed_b(b_direct ? 0 : bytes(depth * x.n)),
      packed_c(c_direct ? 0 : bytes(x.m * x.n));
  C* const out = c_direct ? const_cast<C*>(c.data) : packed_c.template as<C>();
  const int out_stride = c_direct ? c.stride : static_cast<int>(x.n);
  for (std::int64_t p = 0; p < x.k; p += depth) {
    const std::int64_t k = std::min(depth, x.k - p);
    if (a_direct) {
      direct(x.a + p * x.a_column, x.a_row, x.a_column, x.m, k, a);
    } else {
      a = pack(x.a + p * x.a_column, x.a_row, x.a_column, x.m, k, packed_a.template as<C>());
    }
    if (b_direct) {
      direct(x.b + p * x.b_row, x.b_row, x.b_column, k, x.n, b);
    } else {
      b = pack(x.b + p * x.b_row, x.b_row, x.b_column, k, x.n, packed_b.template as<C>());
    }
    gemm(a.transposed, b.transposed, static_cast<int>(x.m), static_cast<int>(x.n), static_cast<int>(k),
         a.data, a.stride, b.data, b.stride, p == 0 ? C{0} : C{1}, out, out_stride);
  }
  if (c_direct) return;
  for (std::int64_t i = 0; i < x.m; ++i)
    for (std::int64_t j = 0; j < x.n; ++j)
      x.c[i * x.c_row + j * x.c_column] = static_cast<T>(out[i * x.n + j]);
}

template <class T>
void matmul_of(const MatmulShape& shape, const StridedMatrix& a, const StridedMatrix& b,
               const MutableMatrix& c, const Blas& library) {
  const auto gemm = choose<typename Accumulator<T>::type>(library);
  const std::int64_t down = (shape.m - 1) / block_rows + 1, across = (shape.n - 1) / block_columns + 1;
  const std::int64_t flops = std::min(shape.m, block_rows) * std::min(shape.n, block_columns) * shape.k;
  const std::int64_t grain = std::max<std::int64_t>(1, task_flops / std::max<std::int64_t>(1, flops));
  parallel_for(0, shape.batch * down * across, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t matrix = block / (down * across), i = block / across % down * block_rows,
                         j = block % across * block_columns;
      compute_block<T>(
          {static_cast<const T*>(a.data) + matrix * a.batch + i * a.row, a.row, a.column,
           static_cast<const T*>(b.data) + matrix * b.batch + j * b.column, b.row, b.column,
           static_cast<T*>(c.data) + matrix * c.batch + i * c.row + j * c.column, c.row, c.column,
           std::min(block_rows, shape.m - i), std::min(block_columns, shape.n - j), shape.k},
          gemm);
    }
  });
}

template <class T>
void clear(const MatmulShape& shape, const MutableMatrix& c) {
  for (std::int64_t matrix = 0; matrix < shape.batch; ++matrix)
    for (std::int64_t i = 0; i < shape.m; ++i)
      for (std::int64_t j = 0; j < shape.n; ++j)
        static_cast<T*>(c.data)[matrix * c.batch + i * c.row + j * c.column] = T{};
}

}  // namespace

void matmul(DType dtype, const MatmulShape& shape, const StridedMatrix& a, const StridedMatrix& b,
            const MutableMatrix& c, const Blas& library) {
  if (shape.batch == 0 || shape.m == 0 || shape.n == 0) return;
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>)
      SINTER_ASSERT(false, "matmul of bool");
    else if (shape.k == 0)
      clear<T>(shape, c);
    else
      matmul_of<T>(shape, a, b, c, library);
  });
}

void matmul(DType dtype, const MatmulShape& shape, const StridedMatrix& a, const StridedMatrix& b,
            const MutableMatrix& c) {
  static const Blas none;
  matmul(dtype, shape, a, b, c, is_float(dtype) ? blas() : none);
}

}  // namespace sinter::runtime
