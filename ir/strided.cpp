#include "ir/strided.h"

#include "ir/base/check.h"

namespace sinter::ir {

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t n = 1;
  for (std::int64_t length : shape) n *= length;
  return n;
}

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

StridedMap movement_map(const Graph& graph, Value movement) {
  const std::vector<std::int64_t> shape = graph.shape(graph.operands(movement)[0]).values();
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  const Attrs& attrs = graph.attrs(movement);
  const Op op = graph.op(movement);
  StridedMap map;
  if (op == Op::broadcast_to) {
    const auto rank = static_cast<std::size_t>(attrs.shape.rank());
    map.strides.assign(rank, 0);
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] != 1) map.strides[rank - shape.size() + axis] = strides[axis];
  } else if (op == Op::permute_dims) {
    for (std::int64_t axis : attrs.axes) map.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  } else if (op == Op::slice) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      map.offset += attrs.starts[axis].value() * strides[axis];
      map.strides.push_back(attrs.steps[axis] * strides[axis]);
    }
  } else {
    SINTER_ASSERT(op == Op::flip, "{} is not a strided map", name(op));
    map.strides = strides;
    for (std::int64_t a : attrs.axes) {
      const auto axis = static_cast<std::size_t>(a);
      map.offset += (shape[axis] - 1) * strides[axis];
      map.strides[axis] = -strides[axis];
    }
  }
  return map;
}

StridedMap pad_box(const Graph& graph, Value pad) {
  StridedMap box{0, row_major_strides(graph.shape(pad).values())};
  const std::vector<Dim>& before = graph.attrs(pad).starts;
  for (std::size_t axis = 0; axis < before.size(); ++axis)
    box.offset += before[axis].value() * box.strides[axis];
  return box;
}

StridedMap concat_box(const Graph& graph, Value concat, std::int64_t position) {
  StridedMap box{0, row_major_strides(graph.shape(concat).values())};
  box.offset = position * box.strides[static_cast<std::size_t>(graph.attrs(concat).axes[0])];
  return box;
}

}  // namespace sinter::ir
