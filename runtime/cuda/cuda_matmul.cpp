#include "runtime/cuda/cuda_matmul.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "ir/base/check.h"
#include "runtime/cuda/cublaslt.h"
#include "xxhash.h"

namespace sinter::runtime::cuda {
namespace {

/// How rows x columns elements lie in memory, for a library that takes two ways: rows one after the other
/// ("by rows"), or columns, with `stride` elements from one to the next.
struct Storage {
  bool by_rows;
  std::int64_t stride;
};

std::optional<Storage> storage_of(std::int64_t rows, std::int64_t columns, std::int64_t row,
                                  std::int64_t column) {
  // The stride of a single row or column is whatever suits.
  if (columns <= 1) column = 1;
  if (rows <= 1) row = column == 1 ? std::max<std::int64_t>(columns, 1) : 1;
  if (column == 1 && row >= std::max<std::int64_t>(columns, 1)) return Storage{true, row};
  if (row == 1 && column >= std::max<std::int64_t>(rows, 1)) return Storage{false, column};
  return std::nullopt;
}

/// Everything that what the library chooses depends on. No padding: it is hashed and compared as bytes.
struct Key {
  std::int64_t device, dtype, batch, m, n, k;
  std::int64_t a_by_rows, a_stride, a_batch, a_alignment;
  std::int64_t b_by_rows, b_stride, b_batch, b_alignment;
  std::int64_t c_stride, c_batch, c_alignment;
  std::int64_t has_bias, bias_alignment, tf32, workspace;
  friend bool operator==(const Key&, const Key&) = default;
};
static_assert(sizeof(Key) == 21 * sizeof(std::int64_t));

struct KeyHash {
  std::size_t operator()(const Key& key) const { return XXH3_64bits(&key, sizeof key); }
};

/// A product as the library takes it: column by column, so that our C = A B is its D = B' A'.
struct Plan {
  cublasLtMatmulDescOpaque_t description{};
  cublasLtMatrixLayoutOpaque_t left{}, right{}, result{};  // B, A and C
  cublasLtMatmulAlgo_t algorithm{};
};

struct Types {
  cudaDataType data;
  cublasComputeType_t compute;
  cudaDataType scale;
};

Types types_of(DType dtype, bool tf32) {
  if (dtype == DType::f16) return {CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  if (dtype == DType::bf16) return {CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  if (dtype == DType::f32)
    return {CUDA_R_32F, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F};
  SINTER_ASSERT(dtype == DType::f64, "a product of {} is not cuBLASLt's", name(dtype));
  return {CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
}

std::string describe(const Key& key) {
  return fmt::format("matrix product of {} x {} by {} x {} ({}, batch {}{})", key.m, key.k, key.k, key.n,
                     name(static_cast<DType>(key.dtype)), key.batch, key.has_bias ? ", with bias" : "");
}

class Planner {
 public:
  explicit Planner(const Key& key) : key_(key) {}

  std::shared_ptr<const Plan> make(const void* bias) {
    const Types types = types_of(static_cast<DType>(key_.dtype), key_.tf32 != 0);
    check(lt_.init_description(&plan_.description, sizeof plan_.description, types.compute, types.scale));
    set(CUBLASLT_MATMUL_DESC_TRANSA, key_.b_by_rows ? CUBLAS_OP_N : CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, key_.a_by_rows ? CUBLAS_OP_N : CUBLAS_OP_T);
    if (key_.has_bias != 0) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, types.data);
    }
    lay_out(plan_.left, types.data, key_.b_by_rows != 0, key_.k, key_.n, key_.b_stride, key_.b_batch);
    lay_out(plan_.right, types.data, key_.a_by_rows != 0, key_.m, key_.k, key_.a_stride, key_.a_batch);
    lay_out(plan_.result, types.data, true, key_.m, key_.n, key_.c_stride, key_.c_batch);
    choose_algorithm();
    return std::make_shared<const Plan>(plan_);
  }

 private:
  void check(cublasStatus_t status) const {
    if (status != CUBLAS_STATUS_SUCCESS)
      fail<DeviceError>("{}: cuBLASLt {} says {}", describe(key_), lt_.version(), lt_.status_name(status));
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    check(lt_.set_in_description(&plan_.description, attribute, &value, sizeof value));
  }
  template <class T>
  void prefer(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    check(lt_.set_in_preference(&preference_, attribute, &value, sizeof value));
  }

  void lay_out(cublasLtMatrixLayoutOpaque_t& layout, cudaDataType type, bool by_rows, std::int64_t rows,
               std::int64_t columns, std::int64_t stride, std::int64_t batch_stride) {
    if (by_rows) std::swap(rows, columns);
    check(lt_.init_layout(&layout, sizeof layout, type, static_cast<std::uint64_t>(rows),
                          static_cast<std::uint64_t>(columns), stride));
    if (key_.batch == 1) return;
    const auto count = static_cast<std::int32_t>(key_.batch);
    check(lt_.set_in_layout(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    check(lt_.set_in_layout(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                            sizeof batch_stride));
  }

  void choose_algorithm() {
    check(lt_.init_preference(&preference_, sizeof preference_));
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(key_.workspace));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(key_.b_alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(key_.a_alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(key_.c_alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(key_.c_alignment));
    // Parts of a long sum are added up as f32 and not as what is stored, so that results round once.
    if (is_16bit_float(static_cast<DType>(key_.dtype)))
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
             static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    check(lt_.get_heuristic(cublaslt_handle(static_cast<int>(key_.device)), &plan_.description, &plan_.left,
                            &plan_.right, &plan_.result, &plan_.result, &preference_, 1, &found, &count));
    if (count == 0) check(CUBLAS_STATUS_NOT_SUPPORTED);
    check(found.state);
    plan_.algorithm = found.algo;
  }

  const Key& key_;
  const CublasLt& lt_ = cublaslt();
  Plan plan_;
  cublasLtMatmulPreferenceOpaque_t preference_{};
};

/// The plans made so far. Programs have few shapes; those that go through very many start anew.
class Plans {
 public:
  std::shared_ptr<const Plan> get(const Key& key, const void* bias) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
    }
    std::shared_ptr<const Plan> plan = Planner(key).make(bias);
    const std::unique_lock lock(mutex_);
    if (plans_.size() >= most) plans_.clear();
    return plans_.insert_or_assign(key, std::move(plan)).first->second;
  }

 private:
  static constexpr std::size_t most = 1 << 14;
  std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Plan>, KeyHash> plans_;
};

std::int64_t alignment_of(const void* address) {
  constexpr std::uintptr_t most = 256;  // more is of no use to the library
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | most;
  return static_cast<std::int64_t>(bits & -bits);
}

void clear(DType dtype, const MatmulShape& shape, const MutableMatrix& c, cudaStream_t stream) {
  const auto size = static_cast<std::size_t>(size_of(dtype));
  SINTER_ASSERT(c.column == 1 || shape.n == 1, "an empty product into columns");
  const auto width = static_cast<std::size_t>(shape.n) * size;
  const std::int64_t row = shape.m == 1 ? shape.n : c.row;
  for (std::int64_t matrix = 0; matrix < shape.batch; ++matrix) {
    auto* const to = static_cast<std::byte*>(c.data) + matrix * c.batch * static_cast<std::int64_t>(size);
    const cudaError_t error = cudaMemset2DAsync(to, static_cast<std::size_t>(row) * size, 0, width,
                                                static_cast<std::size_t>(shape.m), stream);
    if (error != cudaSuccess) fail<DeviceError>("an empty matrix product: {}", cudaGetErrorString(error));
  }
}

/// A batch that multiplies one matrix B is one product of all rows of A.
void join_batch(MatmulShape& shape, StridedMatrix& a, StridedMatrix& b, MutableMatrix& c) {
  const bool one_after_the_other = a.column == 1 && c.column == 1 && a.row >= shape.k && c.row >= shape.n &&
                                   a.batch == shape.m * a.row && c.batch == shape.m * c.row;
  if (shape.batch <= 1 || b.batch != 0 || !one_after_the_other) return;
  shape.m *= shape.batch;
  shape.batch = 1;
  a.batch = c.batch = 0;
}

}  // namespace

bool takes_in_place(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column) {
  return storage_of(rows, columns, row, column).has_value();
}

void matmul(DType dtype, const MatmulShape& given, const StridedMatrix& left, const StridedMatrix& right,
            const MutableMatrix& result, const MatmulOptions& options, cudaStream_t stream, int device) {
  MatmulShape shape = given;
  StridedMatrix a = left, b = right;
  MutableMatrix c = result;
  if (shape.batch == 0 || shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {
    SINTER_ASSERT(options.bias == nullptr, "an empty matrix product with a bias");
    return clear(dtype, shape, c, stream);
  }
  join_batch(shape, a, b, c);
  const auto c_storage = storage_of(shape.m, shape.n, c.row, c.column);
  if (c_storage && !c_storage->by_rows) {  // the product's transpose is stored by rows
    SINTER_ASSERT(options.bias == nullptr, "a bias goes with products that are stored by rows");
    return matmul(dtype, {shape.batch, shape.n, shape.m, shape.k}, {b.data, b.batch, b.column, b.row},
                  {a.data, a.batch, a.column, a.row}, {c.data, c.batch, c.column, c.row}, options, stream,
                  device);
  }
  const auto a_storage = storage_of(shape.m, shape.k, a.row, a.column);
  const auto b_storage = storage_of(shape.k, shape.n, b.row, b.column);
  SINTER_ASSERT(a_storage && b_storage && c_storage && a.batch >= 0 && b.batch >= 0,
                "operands of a product that should have been copied");
  if (shape.batch > std::numeric_limits<std::int32_t>::max())
    fail<UnsupportedError>("a matrix product with a batch of {}, and cuBLASLt takes 2^31 - 1", shape.batch);
  const bool of_many = shape.batch > 1;
  const Key key{.device = device,
                .dtype = static_cast<std::int64_t>(dtype),
                .batch = shape.batch,
                .m = shape.m,
                .n = shape.n,
                .k = shape.k,
                .a_by_rows = a_storage->by_rows,
                .a_stride = a_storage->stride,
                .a_batch = of_many ? a.batch : 0,
                .a_alignment = alignment_of(a.data),
                .b_by_rows = b_storage->by_rows,
                .b_stride = b_storage->stride,
                .b_batch = of_many ? b.batch : 0,
                .b_alignment = alignment_of(b.data),
                .c_stride = c_storage->stride,
                .c_batch = of_many ? c.batch : 0,
                .c_alignment = alignment_of(c.data),
                .has_bias = options.bias != nullptr,
                .bias_alignment = options.bias != nullptr ? alignment_of(options.bias) : 0,
                .tf32 = options.tf32 && dtype == DType::f32,
                .workspace = options.workspace != nullptr ? options.workspace_bytes : 0};
  static Plans plans;
  const cublasLtHandle_t handle = cublaslt_handle(device);
  const CublasLt& lt = cublaslt();
  const std::shared_ptr<const Plan> plan = plans.get(key, options.bias);
  cublasLtMatmulDescOpaque_t description = plan->description;
  if (options.bias != nullptr)
    lt.set_in_description(&description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &options.bias,
                          sizeof options.bias);
  // The library takes descriptions and layouts by pointers that are not const, and does not write to them.
  auto* const left_layout = const_cast<cublasLtMatrixLayout_t>(&plan->left);
  auto* const right_layout = const_cast<cublasLtMatrixLayout_t>(&plan->right);
  auto* const result_layout = const_cast<cublasLtMatrixLayout_t>(&plan->result);
  const float one = 1, zero = 0;
  const double one_f64 = 1, zero_f64 = 0;
  const bool f64 = dtype == DType::f64;
  const cublasStatus_t status = lt.matmul(
      handle, &description, f64 ? static_cast<const void*>(&one_f64) : &one, b.data, left_layout, a.data,
      right_layout, f64 ? static_cast<const void*>(&zero_f64) : &zero, c.data, result_layout, c.data,
      result_layout, &plan->algorithm, options.workspace, static_cast<std::size_t>(key.workspace), stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    fail<DeviceError>("{}: cuBLASLt {} says {}", describe(key), lt.version(), lt.status_name(status));
}

}  // namespace sinter::runtime::cuda
