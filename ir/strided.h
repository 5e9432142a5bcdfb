// Strided index maps: how a movement op reads its operand, and walks over shapes that keep offsets along.
//
// broadcast_to, permute_dims, slice and flip read element i of their result at offset + sum(i[k] *
// strides[k]) of their contiguous operand; pad and concat write operands into boxes of their result. Both
// evaluators move elements by these maps. Shapes are numbers here: a graph with symbolic dims is bound first.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace sinter::ir {

struct StridedMap {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;  // in elements, one per axis; 0 repeats, negative goes backwards
};

/// Strides of a contiguous tensor, the last axis fastest.
std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape);

/// Where the result of a broadcast_to, permute_dims, slice or flip lies in its operand.
StridedMap movement_map(const Graph& graph, Value movement);

/// The box of the result that a pad's operand, or a concat's operand at `position` along its axis, is written
/// to.
StridedMap pad_box(const Graph& graph, Value pad);
StridedMap concat_box(const Graph& graph, Value concat, std::int64_t position);

std::int64_t element_count(std::span<const std::int64_t> shape);

/// Steps through a shape in row-major order and keeps one offset per set of strides.
template <std::size_t N>
class Walk {
 public:
  Walk(std::span<const std::int64_t> shape, std::array<std::span<const std::int64_t>, N> strides)
      : shape_(shape), strides_(strides), index_(shape.size(), 0), left_(element_count(shape)) {}

  bool done() const { return left_ == 0; }
  std::int64_t offset(std::size_t k) const { return offsets_[k]; }
  void next() {
    --left_;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      if (++index_[axis] < shape_[axis]) {
        for (std::size_t k = 0; k < N; ++k) offsets_[k] += strides_[k][axis];
        return;
      }
      for (std::size_t k = 0; k < N; ++k) offsets_[k] -= (shape_[axis] - 1) * strides_[k][axis];
      index_[axis] = 0;
    }
  }

 private:
  std::span<const std::int64_t> shape_;
  std::array<std::span<const std::int64_t>, N> strides_;
  std::vector<std::int64_t> index_;
  std::array<std::int64_t, N> offsets_{};
  std::int64_t left_;
};

/// Copies a box of `shape` elements from where `from` puts them in `source` to where `to` puts them in
/// `target`.
template <class T>
void copy_box(std::span<const std::int64_t> shape, const T* source, const StridedMap& from, T* target,
              const StridedMap& to) {
  if (shape.empty()) {
    target[to.offset] = source[from.offset];
    return;
  }
  const std::span<const std::int64_t> source_strides = from.strides, target_strides = to.strides;
  const std::size_t outer = shape.size() - 1;
  const std::int64_t length = shape.back(), source_step = source_strides.back(),
                     target_step = target_strides.back();
  if (length == 0) return;
  for (Walk<2> rows(shape.first(outer), {source_strides.first(outer), target_strides.first(outer)});
       !rows.done(); rows.next()) {
    const T* in = source + from.offset + rows.offset(0);
    T* out = target + to.offset + rows.offset(1);
    for (std::int64_t i = 0; i < length; ++i) out[i * target_step] = in[i * source_step];
  }
}

}  // namespace sinter::ir
