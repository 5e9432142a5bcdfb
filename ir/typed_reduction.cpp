#include "ir/typed_reduction.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/elementwise_loops.h"
#include "ir/strided.h"
#include "ir/typed_blocks.h"

namespace sinter::ir {
namespace {

/// The axes of a reduction's operand, split into those that stay and those that fold.
struct Axes {
  std::vector<std::int64_t> kept_shape, kept_strides, folded_shape, folded_strides;

  Axes(const Array& x, const std::vector<std::int64_t>& folded) {
    const std::vector<std::int64_t> strides = row_major_strides(x.shape);
    for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
      const bool folds = std::ranges::binary_search(folded, static_cast<std::int64_t>(axis));
      (folds ? folded_shape : kept_shape).push_back(x.shape[axis]);
      (folds ? folded_strides : kept_strides).push_back(strides[axis]);
    }
  }
};

/// Folds a stream of items of `lanes` values each in a tree: items are gathered into blocks, a block folds in
/// halves, and the blocks' results meet in pairs of equal weight.
template <class C>
class TreeFold {
 public:
  TreeFold(Op combine, std::size_t lanes)
      : combine_(elementwise_loops(combine)),
        lanes_(lanes),
        capacity_(std::max<std::size_t>(4096 / lanes, 2)),
        block_(capacity_ * lanes) {}

  /// Room for more values, a whole number of items of which at least one fits.
  std::span<C> room() {
    if (filled_ == capacity_) close_block();
    return std::span<C>(block_).subspan(filled_ * lanes_);
  }
  void advance(std::size_t items) { filled_ += items; }

  /// The fold of all items, which are at least one; the object is ready for the next stream.
  std::vector<C> finish() {
    if (filled_ > 0) close_block();
    std::vector<C> total = std::move(partial_.back().values);
    partial_.pop_back();
    for (; !partial_.empty(); partial_.pop_back())
      apply(partial_.back().values.data(), total.data(), total.data(), lanes_);
    return total;
  }

 private:
  struct Partial {
    std::size_t blocks;
    std::vector<C> values;
  };

  void apply(const C* a, const C* b, C* y, std::size_t n) const {
    if constexpr (std::is_same_v<C, float>)
      combine_.f32(a, b, b, y, n);
    else if constexpr (std::is_same_v<C, double>)
      combine_.f64(a, b, b, y, n);
    else
      combine_.whole(a, b, b, y, n, DType::int64);
  }

  void close_block() {
    while (filled_ > 1) {
      const std::size_t half = filled_ / 2;
      C* upper = block_.data() + (filled_ - half) * lanes_;
      apply(block_.data(), upper, block_.data(), half * lanes_);
      filled_ -= half;
    }
    filled_ = 0;
    Partial top{1, std::vector<C>(block_.begin(), block_.begin() + static_cast<std::ptrdiff_t>(lanes_))};
    for (; !partial_.empty() && partial_.back().blocks == top.blocks; partial_.pop_back()) {
      apply(partial_.back().values.data(), top.values.data(), top.values.data(), lanes_);
      top.blocks *= 2;
    }
    partial_.push_back(std::move(top));
  }

  const ElementwiseLoops& combine_;
  std::size_t lanes_, capacity_, filled_ = 0;
  std::vector<C> block_;
  std::vector<Partial> partial_;
};

/// When the last axis stays, runs of it fold side by side; else each result folds runs of the last axis.
template <class C>
void fold_array(const Array& x, const std::vector<std::int64_t>& folded, Op combine, Array& result) {
  constexpr std::int64_t widest = 256;
  Axes axes(x, folded);
  const bool side_by_side =
      !axes.kept_strides.empty() && axes.kept_strides.back() == 1 && axes.kept_shape.back() > 1;
  const std::int64_t row = side_by_side ? axes.kept_shape.back() : 1;
  std::int64_t run = 1;  // items that follow each other in memory
  if (side_by_side) {
    axes.kept_shape.pop_back();
    axes.kept_strides.pop_back();
  } else if (!axes.folded_strides.empty() && axes.folded_strides.back() == 1) {
    run = axes.folded_shape.back();
    axes.folded_shape.pop_back();
    axes.folded_strides.pop_back();
  }
  std::int64_t position = 0;
  for (Walk<1> kept(axes.kept_shape, {axes.kept_strides}); !kept.done(); kept.next()) {
    for (std::int64_t first = 0; first < row; first += widest) {
      const std::int64_t lanes = std::min(widest, row - first);
      TreeFold<C> fold(combine, static_cast<std::size_t>(lanes));
      for (Walk<1> walk(axes.folded_shape, {axes.folded_strides}); !walk.done(); walk.next())
        for (std::int64_t item = 0; item < run;) {
          const std::span<C> room = fold.room();
          const std::int64_t items = std::min(run - item, static_cast<std::int64_t>(room.size()) / lanes);
          load_block(x.dtype, x.data.data(), kept.offset(0) + walk.offset(0) + first + item,
                     static_cast<std::size_t>(items * lanes), room.data());
          fold.advance(static_cast<std::size_t>(items));
          item += items;
        }
      store_block(result.dtype, fold.finish().data(), static_cast<std::size_t>(lanes), result.data.data(),
                  position);
      position += lanes;
    }
  }
}

template <class C>
bool is_nan(C value) {
  if constexpr (std::is_floating_point_v<C>)
    return std::isnan(value);
  else
    return false;
}

/// The index, in row-major order over the folded axes, of the first NaN or else of the first of the extremes.
template <class C>
void fold_index(const Array& x, const std::vector<std::int64_t>& folded, bool greatest, Array& result) {
  const Axes axes(x, folded);
  auto* out = reinterpret_cast<std::int64_t*>(result.data.data());
  visit_dtype(x.dtype, [&](auto type) {
    using T = decltype(type);
    const T* data = reinterpret_cast<const T*>(x.data.data());
    for (Walk<1> kept(axes.kept_shape, {axes.kept_strides}); !kept.done(); kept.next()) {
      C best{};
      std::int64_t at = -1, index = 0;
      for (Walk<1> walk(axes.folded_shape, {axes.folded_strides}); !walk.done(); walk.next(), ++index) {
        const C value = widen<C>(data[kept.offset(0) + walk.offset(0)]);
        const bool better =
            at < 0 || (!is_nan(best) && (is_nan(value) || (greatest ? value > best : value < best)));
        if (!better) continue;
        best = value;
        at = index;
      }
      *out++ = at;
    }
  });
}

void fill(Array& result, std::int64_t value) {
  for (std::int64_t i = 0; i < result.elements(); ++i) result.set(i, Scalar::from_whole(result.dtype, value));
}

/// One matrix; `row` holds the running sums of a row of the result.
template <class C, class T>
void multiply(const T* a, const T* b, T* y, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  std::vector<C> row(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    std::ranges::fill(row, C{});
    for (std::int64_t k = 0; k < inner; ++k) {
      const C left = widen<C>(a[i * inner + k]);
      const T* right = b + k * columns;
      for (std::int64_t j = 0; j < columns; ++j)
        row[static_cast<std::size_t>(j)] += left * widen<C>(right[j]);
    }
    for (std::int64_t j = 0; j < columns; ++j)
      y[i * columns + j] = narrow<T>(row[static_cast<std::size_t>(j)]);
  }
}

}  // namespace

void evaluate_reduction(const Graph& graph, Value node, const Array& x, Array& result) {
  const ReductionInfo& info = reduction_info(graph.op(node));
  const std::vector<std::int64_t>& folded = graph.attrs(node).axes;
  if (result.elements() == 0) return;
  if (x.elements() == 0) return fill(result, info.identity == Identity::one);
  visit_compute(x.dtype, [&](auto type) {
    using C = decltype(type);
    if (info.accumulator == Accumulator::index)
      fold_index<C>(x, folded, info.combine == Op::maximum, result);
    else
      fold_array<C>(x, folded, info.combine, result);
  });
}

void evaluate_matmul(const Array& a, const Array& b, Array& result) {
  const std::size_t rank = a.shape.size();
  const std::int64_t rows = a.shape[rank - 2], inner = a.shape[rank - 1], columns = b.shape[rank - 1];
  const std::int64_t batches = element_count(std::span(a.shape).first(rank - 2));
  visit_dtype(a.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, bool>) {  // which matmul does not admit
      // Whole numbers wrap, which unsigned arithmetic of 64 bits does for every width.
      using C = std::conditional_t<std::is_integral_v<T>, std::uint64_t,
                                   std::conditional_t<std::is_same_v<T, double>, long double, double>>;
      for (std::int64_t batch = 0; batch < batches; ++batch)
        multiply<C>(reinterpret_cast<const T*>(a.data.data()) + batch * rows * inner,
                    reinterpret_cast<const T*>(b.data.data()) + batch * inner * columns,
                    reinterpret_cast<T*>(result.data.data()) + batch * rows * columns, rows, inner, columns);
    }
  });
}

}  // namespace sinter::ir
