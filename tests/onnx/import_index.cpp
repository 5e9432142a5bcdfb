// Gathers, and tensors that are made by counting: ranges, masks, windows.
#include <cmath>
#include <numbers>

#include "tests/onnx/call.h"

namespace sinter::testing::onnx {
namespace {

using ir::Op;
using Lengths = std::vector<std::int64_t>;

Expr take(const Expr& x, const Expr& index, std::int64_t axis) {
  return {x.graph, ir::take(*x.graph, x.value, index.value, axis)};
}

std::vector<Expr> import_gather(Call& c) {
  return {take(c.in(0), c.in(1), c.integer("axis", 0))};
}

std::vector<Expr> import_gather_elements(Call& c) {
  const Expr x = c.in(0);
  return {{x.graph, ir::take_along_axis(*x.graph, x.value, c.in(1).value, c.integer("axis", 0))}};
}

/// The leading axes that an index tuple addresses become one; a batch of tuples offsets its index into it.
std::vector<Expr> import_gather_nd(Call& c) {
  const Expr x = c.in(0), index = c.in(1);
  const std::int64_t batch = c.integer("batch_dims", 0), depth = index.length(-1);
  const Lengths shape = x.shape(), tuples = index.shape();
  Lengths counts(tuples.begin(), tuples.end() - 1);
  Expr flat = broadcast_to(constant(c.graph(), DType::int64, 0), counts);
  std::int64_t addressed = 1;
  for (std::int64_t axis = 0; axis < batch + depth; ++axis) {
    const std::int64_t length = shape.at(static_cast<std::size_t>(axis));
    Expr position = flat;
    if (axis < batch) {
      position = count_along(c.graph(), counts, axis);
    } else {
      std::vector<ir::Range> ranges(tuples.size());
      ranges.back() = {axis - batch, axis - batch + 1};
      position = reshape(slice(index, ranges), counts);
      position = where(position < 0, position + static_cast<int>(length), position);
    }
    flat = flat * static_cast<int>(length) + position;
    addressed *= length;
  }
  Lengths rest(shape.begin() + batch + depth, shape.end());
  rest.insert(rest.begin(), addressed);
  return {take(reshape(x, rest), flat, 0)};
}

/// The elements whose condition holds; the condition is read when the model is imported.
std::vector<Expr> import_compress(Call& c) {
  Expr x = c.in(0);
  const bool flat = !c.has_attribute("axis");
  if (flat) x = reshape(x, {x.elements()});
  const Lengths condition = c.integers(1);
  Lengths chosen;
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (condition[i] != 0) chosen.push_back(static_cast<std::int64_t>(i));
  ir::Array index(DType::int64, {static_cast<std::int64_t>(chosen.size())});
  for (std::size_t i = 0; i < chosen.size(); ++i)
    index.set(static_cast<std::int64_t>(i), ir::Scalar::from_whole(DType::int64, chosen[i]));
  return {take(x, c.literal(std::move(index)), flat ? 0 : c.integer("axis", 0))};
}

std::vector<Expr> import_range(Call& c) {
  const double start = c.number(0), limit = c.number(1), step = c.number(2);
  const auto count = static_cast<std::int64_t>(std::max(0.0, std::ceil((limit - start) / step)));
  return {c.in(0) + count_along(c.graph(), {count}, 0, c.in(0).dtype()) * c.in(2)};
}

/// Column minus row of each element of the last two axes.
Expr diagonal_of(ir::Graph& graph, const Lengths& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return count_along(graph, shape, rank - 1) - count_along(graph, shape, rank - 2);
}

std::vector<Expr> import_trilu(Call& c) {
  const Expr x = c.in(0), diagonal = diagonal_of(c.graph(), x.shape());
  const int k = c.has(1) ? static_cast<int>(c.integers(1).at(0)) : 0;
  const Expr kept = c.integer("upper", 1) != 0 ? diagonal >= k : diagonal <= k;
  return {where(kept, x, 0)};
}

std::vector<Expr> import_eye_like(Call& c) {
  const Expr x = c.in(0);
  const DType dtype = c.has_attribute("dtype") ? dtype_from_onnx(c.integer("dtype", 1)) : x.dtype();
  return {cast(diagonal_of(c.graph(), x.shape()) == static_cast<int>(c.integer("k", 0)), dtype)};
}

std::vector<Expr> import_one_hot(Call& c) {
  const auto depth = static_cast<std::int64_t>(c.number(1));
  const Expr values = c.in(2);
  Expr index = cast(c.in(0), DType::int64);
  index = where(index < 0, index + static_cast<int>(depth), index);
  const std::int64_t axis =
      ir::normalize_axis(c.integer("axis", -1), static_cast<int>(index.rank() + 1), "OneHot");
  Lengths shape = index.shape();
  shape.insert(shape.begin() + axis, depth);
  const Expr hit = unsqueeze(index, {axis}) == count_along(c.graph(), shape, axis);
  const Expr off = reshape(slice(values, {ir::Range{0, 1}}), {}),
             on = reshape(slice(values, {ir::Range{1, 2}}), {});
  return {where(hit, on, off)};
}

/// Sums over a triangle: element j of the axis counts for the results i that come after it.
std::vector<Expr> import_cum_sum(Call& c) {
  const Expr x = c.in(0);
  const std::int64_t axis = ir::normalize_axis(c.integers(1).at(0), static_cast<int>(x.rank()), "CumSum");
  const Expr last = unsqueeze(x, {axis});  // x[..., 1, j, ...], to be spread over [..., i, j, ...]
  Lengths shape = x.shape();
  shape.insert(shape.begin() + axis, x.length(axis));
  const Expr i = count_along(c.graph(), shape, axis), j = count_along(c.graph(), shape, axis + 1);
  const bool exclusive = c.integer("exclusive", 0) != 0, reverse = c.integer("reverse", 0) != 0;
  const Expr counted = reverse ? (exclusive ? j > i : j >= i) : (exclusive ? j < i : j <= i);
  return {reduce(Op::sum, where(counted, last, 0), Axes{{axis + 1}}, false)};
}

/// a + b·cos(2πn/N) + c·cos(4πn/N), with N one less where the window is symmetric.
Handler window(double a, double b, double c2) {
  return [=](Call& c) -> std::vector<Expr> {
    const std::int64_t size = c.integers(0).at(0);
    const double period = static_cast<double>(c.integer("periodic", 1) != 0 ? size : size - 1);
    const Expr angle = count_along(c.graph(), {size}, 0, DType::f32) * (2 * std::numbers::pi / period);
    return {apply(Op::cos, {angle}) * b + apply(Op::cos, {angle * 2.0}) * c2 + a};
  };
}

}  // namespace

Handlers index_handlers() {
  return {
      {"Gather", import_gather},
      {"GatherElements", import_gather_elements},
      {"GatherND", import_gather_nd},
      {"Compress", import_compress},
      {"Range", import_range},
      {"Trilu", import_trilu},
      {"EyeLike", import_eye_like},
      {"OneHot", import_one_hot},
      {"CumSum", import_cum_sum},
      {"HannWindow", window(0.5, -0.5, 0)},
      {"HammingWindow", window(25.0 / 46, -21.0 / 46, 0)},
      {"BlackmanWindow", window(0.42, -0.5, 0.08)},
  };
}

}  // namespace sinter::testing::onnx
