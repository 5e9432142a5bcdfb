// Operators that move elements: shapes, slices, joins, padding, and the tensors that describe shapes.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/onnx/call.h"

namespace sinter::testing::onnx {
namespace {

using Lengths = std::vector<std::int64_t>;

std::int64_t product(const Lengths& lengths, std::int64_t first, std::int64_t last) {
  return std::accumulate(lengths.begin() + first, lengths.begin() + last, std::int64_t{1},
                         std::multiplies<>());
}

int axis_of(Call& c, const Expr& x, std::int64_t otherwise) {
  return ir::normalize_axis(c.integer("axis", otherwise), static_cast<int>(x.rank()), c.node().op);
}

/// A one-dimensional tensor of whole numbers that stands in the model.
Expr integers_literal(Call& c, const Lengths& values) {
  ir::Array array(DType::int64, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    array.set(static_cast<std::int64_t>(i), ir::Scalar::from_whole(DType::int64, values[i]));
  return c.literal(std::move(array));
}

std::vector<Expr> import_constant(Call& c) {
  const Node& node = c.node();
  if (const auto found = node.attributes.find("value");
      found != node.attributes.end() && found->second.tensor)
    return {c.literal(*found->second.tensor)};
  if (c.has_attribute("value_ints")) return {integers_literal(c, c.list("value_ints"))};
  if (!c.has_attribute("value_int")) unsupported(c, "a value that is neither a tensor nor whole numbers");
  return {reshape(integers_literal(c, {c.integer("value_int", 0)}), {})};
}

std::vector<Expr> import_constant_of_shape(Call& c) {
  const auto found = c.node().attributes.find("value");
  const ir::Scalar value = found != c.node().attributes.end() && found->second.tensor
                               ? found->second.tensor->at(0)
                               : ir::Scalar::from_real(DType::f32, 0);
  return {broadcast_to({&c.graph(), c.graph().constant(value)}, c.integers(0))};
}

std::vector<Expr> import_shape(Call& c) {
  const Lengths shape = c.in(0).shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t first = place(c.integer("start", 0)), last = place(c.integer("end", rank));
  return {integers_literal(c, Lengths(shape.begin() + first, shape.begin() + std::max(first, last)))};
}

std::vector<Expr> import_size(Call& c) {
  return {reshape(integers_literal(c, {c.in(0).elements()}), {})};
}

std::vector<Expr> import_reshape(Call& c) {
  const Expr x = c.in(0);
  Lengths shape = c.integers(1);
  const bool zero_is_zero = c.integer("allowzero", 0) != 0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 0 && !zero_is_zero) shape[i] = x.shape().at(i);
  return {reshape(x, shape)};
}

std::vector<Expr> import_flatten(Call& c) {
  const Expr x = c.in(0);
  const std::int64_t given = c.integer("axis", 1), axis = given < 0 ? given + x.rank() : given;
  return {reshape(x, {product(x.shape(), 0, axis), product(x.shape(), axis, x.rank())})};
}

std::vector<Expr> import_expand(Call& c) {
  const Expr x = c.in(0);
  const Lengths wanted = c.integers(1);
  const ir::Shape shape = ir::broadcast_shapes(
      c.graph().shape(x.value), ir::Shape(std::vector<ir::Dim>(wanted.begin(), wanted.end())), "Expand");
  return {broadcast_to(x, shape.values())};
}

std::vector<Expr> import_squeeze(Call& c) {
  const Expr x = c.in(0);
  const Axes axes = c.axes(1, "axes");
  std::vector<bool> drop;
  for (std::int64_t length : x.shape()) drop.push_back(!axes && length == 1);
  for (std::int64_t axis : axes.value_or(Lengths{}))
    drop[static_cast<std::size_t>(ir::normalize_axis(axis, static_cast<int>(x.rank()), "Squeeze"))] = true;
  Lengths shape;
  for (std::size_t i = 0; i < drop.size(); ++i)
    if (!drop[i]) shape.push_back(x.shape()[i]);
  return {reshape(x, shape)};
}

std::vector<Expr> import_unsqueeze(Call& c) {
  return {unsqueeze(c.in(0), c.axes(1, "axes").value())};
}

std::vector<Expr> import_transpose(Call& c) {
  const Expr x = c.in(0);
  Lengths axes = c.list("perm");
  if (axes.empty())
    for (std::int64_t axis = x.rank(); axis-- > 0;) axes.push_back(axis);
  return {permute(x, axes)};
}

std::vector<Expr> import_concat(Call& c) {
  return {concat(c.all(), c.integer("axis", 0))};
}

std::vector<Expr> import_split(Call& c) {
  const Expr x = c.in(0);
  const auto axis = static_cast<std::size_t>(axis_of(c, x, 0));
  const std::size_t parts = c.node().outputs.size();
  const std::int64_t length = x.shape()[axis];
  const Lengths lengths =
      c.axes(1, "split").value_or(Lengths(parts, length / static_cast<std::int64_t>(parts)));
  std::vector<Expr> results;
  std::int64_t start = 0;
  for (std::int64_t part : lengths) {
    std::vector<ir::Range> ranges(axis + 1);
    ranges[axis] = {start, start + part};
    results.push_back(slice(x, ranges));
    start += part;
  }
  return results;
}

std::vector<Expr> import_slice(Call& c) {
  const Expr x = c.in(0);
  const Lengths starts = c.integers(1), ends = c.integers(2);
  Lengths axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has(3)) axes = c.integers(3);
  if (c.has(4)) steps = c.integers(4);
  std::vector<ir::Range> ranges(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = ir::normalize_axis(axes[i], static_cast<int>(x.rank()), "Slice");
    ranges[static_cast<std::size_t>(axis)] = {starts[i], ends[i], steps[i]};
  }
  return {slice(x, ranges)};
}

/// One axis of a reflecting or repeating padding: where each element of the result comes from.
Expr pad_by_index(Call& c, const Expr& x, int axis, std::int64_t before, std::int64_t after, bool reflect) {
  const std::int64_t length = x.shape()[static_cast<std::size_t>(axis)];
  Lengths from;
  for (std::int64_t at = -before; at < length + after; ++at) {
    const std::int64_t mirrored = at < 0 ? -at : at >= length ? 2 * (length - 1) - at : at;
    from.push_back(reflect ? mirrored : std::clamp<std::int64_t>(at, 0, length - 1));
  }
  return {x.graph, ir::take(*x.graph, x.value, integers_literal(c, from).value, axis)};
}

std::vector<Expr> import_pad(Call& c) {
  Expr x = c.in(0);
  const Lengths pads = c.integers(1);
  const std::string mode = c.text("mode", "constant");
  const auto rank = static_cast<std::size_t>(x.rank());
  const Lengths before(pads.begin(), pads.begin() + x.rank()), after(pads.begin() + x.rank(), pads.end());
  if (mode == "constant") {
    const ir::Literal value{c.has(2) ? c.number(2) : 0.0};
    return {{x.graph, ir::pad(*x.graph, x.value, before, after, value)}};
  }
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (before[axis] != 0 || after[axis] != 0)
      x = pad_by_index(c, x, static_cast<int>(axis), before[axis], after[axis], mode == "reflect");
  return {x};
}

/// Every axis becomes (times, length), of which the first is broadcast.
std::vector<Expr> import_tile(Call& c) {
  const Expr x = c.in(0);
  const Lengths times = c.integers(1), shape = x.shape();
  Lengths apart, repeated, result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    apart.insert(apart.end(), {1, shape[i]});
    repeated.insert(repeated.end(), {times.at(i), shape[i]});
    result.push_back(times[i] * shape[i]);
  }
  return {reshape(broadcast_to(reshape(x, apart), repeated), result)};
}

std::vector<Expr> import_depth_to_space(Call& c) {
  const Expr x = c.in(0);
  const std::int64_t block = c.integer("blocksize", 1), depth = x.length(1) / (block * block);
  const std::int64_t n = x.length(0), height = x.length(2), width = x.length(3);
  const bool depth_last = c.text("mode", "DCR") == "DCR";
  const Expr parts = depth_last
                         ? permute(reshape(x, {n, block, block, depth, height, width}), {0, 3, 4, 1, 5, 2})
                         : permute(reshape(x, {n, depth, block, block, height, width}), {0, 1, 4, 2, 5, 3});
  return {reshape(parts, {n, depth, height * block, width * block})};
}

std::vector<Expr> import_space_to_depth(Call& c) {
  const Expr x = c.in(0);
  const std::int64_t block = c.integer("blocksize", 1);
  const std::int64_t n = x.length(0), depth = x.length(1), height = x.length(2) / block,
                     width = x.length(3) / block;
  const Expr parts = permute(reshape(x, {n, depth, height, block, width, block}), {0, 3, 5, 1, 2, 4});
  return {reshape(parts, {n, depth * block * block, height, width})};
}

}  // namespace

Handlers shape_handlers() {
  return {
      {"Constant", import_constant},
      {"ConstantOfShape", import_constant_of_shape},
      {"Shape", import_shape},
      {"Size", import_size},
      {"Reshape", import_reshape},
      {"Flatten", import_flatten},
      {"Expand", import_expand},
      {"Squeeze", import_squeeze},
      {"Unsqueeze", import_unsqueeze},
      {"Transpose", import_transpose},
      {"Concat", import_concat},
      {"Split", import_split},
      {"Slice", import_slice},
      {"Pad", import_pad},
      {"Tile", import_tile},
      {"DepthToSpace", import_depth_to_space},
      {"SpaceToDepth", import_space_to_depth},
  };
}

}  // namespace sinter::testing::onnx
