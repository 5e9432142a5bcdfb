// Matrix products, einsum, and sums and maxima over windows.
#include <algorithm>
#include <limits>

#include "tests/onnx/call.h"

namespace sinter::testing::onnx {
namespace {

using ir::Op;
using Lengths = std::vector<std::int64_t>;

Expr matmul(const Expr& a, const Expr& b) {
  return {a.graph, ir::matmul(*a.graph, a.value, b.value)};
}

std::vector<Expr> import_matmul(Call& c) {
  return {matmul(c.in(0), c.in(1))};
}

std::vector<Expr> import_matmul_integer(Call& c) {
  Expr a = cast(c.in(0), DType::int32), b = cast(c.in(1), DType::int32);
  if (c.has(2)) a = a - c.in(2);
  if (c.has(3)) b = b - c.in(3);
  return {matmul(a, b)};
}

std::vector<Expr> import_gemm(Call& c) {
  Expr a = c.in(0), b = c.in(1);
  if (c.integer("transA", 0) != 0) a = permute(a, {1, 0});
  if (c.integer("transB", 0) != 0) b = permute(b, {1, 0});
  const Expr scaled = matmul(a, b) * c.real("alpha", 1.0);
  return {c.has(2) ? scaled + c.in(2) * c.real("beta", 1.0) : scaled};
}

/// The labels of an einsum: those of each operand, and of the result.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
  std::string all;  // the result's, then those summed over
};

Equation parse_equation(Call& c) {
  std::string text = c.text("equation", "");
  std::erase(text, ' ');
  if (text.find("...") != std::string::npos) unsupported(c, "an ellipsis");
  const std::size_t arrow = text.find("->");
  Equation equation;
  std::string left = text.substr(0, arrow) + ",";
  for (std::size_t comma; (comma = left.find(',')) != std::string::npos; left.erase(0, comma + 1))
    equation.operands.push_back(left.substr(0, comma));
  if (arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
  } else {  // the labels that occur once, sorted
    for (char label = 'A'; label <= 'z'; ++label)
      if (std::ranges::count(text, label) == 1) equation.result += label;
  }
  equation.all = equation.result;
  for (const std::string& labels : equation.operands)
    for (char label : labels)
      if (equation.all.find(label) == std::string::npos) equation.all += label;
  return equation;
}

/// x with one axis per label of `all`, in that order; labels it lacks are 1 long.
Expr spread(Call& c, const Expr& x, const std::string& labels, const std::string& all) {
  Lengths order, shape;
  for (char label : all) {
    const auto at = labels.find(label);
    shape.push_back(at == std::string::npos ? 1 : x.shape().at(at));
    if (at != std::string::npos) order.push_back(static_cast<std::int64_t>(at));
    if (std::ranges::count(labels, label) > 1) unsupported(c, "a repeated label");
  }
  return reshape(permute(x, order), shape);
}

std::vector<Expr> import_einsum(Call& c) {
  const Equation equation = parse_equation(c);
  Expr result = spread(c, c.in(0), equation.operands[0], equation.all);
  for (std::size_t i = 1; i < equation.operands.size(); ++i)
    result = result * spread(c, c.in(i), equation.operands[i], equation.all);
  Lengths summed;
  for (std::size_t i = equation.result.size(); i < equation.all.size(); ++i)
    summed.push_back(static_cast<std::int64_t>(i));
  return {summed.empty() ? result : reduce(Op::sum, result, summed, false)};
}

/// How the windows of a pooling or convolution lie on the spatial axes, which are those from 2 on.
struct Windows {
  Lengths kernel, strides, dilations, before, after, counts;

  std::int64_t extent(std::size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

void pad_to_same(Windows& w, const Lengths& lengths, bool more_behind) {
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    const std::int64_t count = (lengths[i] + w.strides[i] - 1) / w.strides[i];
    const std::int64_t total =
        std::max<std::int64_t>(0, (count - 1) * w.strides[i] + w.extent(i) - lengths[i]);
    w.before[i] = more_behind ? total / 2 : total - total / 2;
    w.after[i] = total - w.before[i];
  }
}

Windows windows_of(Call& c, const Expr& x, const Lengths& kernel) {
  const Lengths shape = x.shape(), lengths(shape.begin() + 2, shape.end());
  const std::size_t n = kernel.size();
  const Lengths pads = c.list("pads", Lengths(2 * n, 0));
  Windows w{kernel,
            c.list("strides", Lengths(n, 1)),
            c.list("dilations", Lengths(n, 1)),
            Lengths(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n)),
            Lengths(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end()),
            {}};
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic.starts_with("SAME")) pad_to_same(w, lengths, automatic == "SAME_UPPER");
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t room = lengths[i] + w.before[i] + w.after[i] - w.extent(i);
    const bool up = c.integer("ceil_mode", 0) != 0;
    w.counts.push_back((up ? room + w.strides[i] - 1 : room) / w.strides[i] + 1);
    w.after[i] +=
        std::max<std::int64_t>(0, (w.counts[i] - 1) * w.strides[i] - room);  // the last window's overhang
  }
  return w;
}

Expr pad_spatial(const Expr& x, const Windows& w, double value) {
  Lengths before{0, 0}, after{0, 0};
  before.insert(before.end(), w.before.begin(), w.before.end());
  after.insert(after.end(), w.after.begin(), w.after.end());
  return {x.graph, ir::pad(*x.graph, x.value, before, after, ir::Literal{value})};
}

/// Calls `f` with every position in the kernel and the elements of the padded x that lie there, window by
/// window.
void for_each_position(const Expr& padded, const Windows& w,
                       const std::function<void(const Lengths& position, const Expr& elements)>& f) {
  Lengths position(w.kernel.size(), 0);
  while (true) {
    std::vector<ir::Range> ranges(2);
    for (std::size_t i = 0; i < position.size(); ++i) {
      const std::int64_t start = position[i] * w.dilations[i];
      ranges.push_back({start, start + (w.counts[i] - 1) * w.strides[i] + 1, w.strides[i]});
    }
    f(position, slice(padded, ranges));
    std::size_t axis = position.size();
    while (axis > 0 && ++position[axis - 1] == w.kernel[axis - 1]) position[--axis] = 0;
    if (axis == 0) return;
  }
}

Expr fold_windows(Op op, const Expr& padded, const Windows& w) {
  std::optional<Expr> result;
  for_each_position(padded, w, [&](const Lengths&, const Expr& elements) {
    result = result ? apply(op, {*result, elements}) : elements;
  });
  return result.value();
}

std::vector<Expr> import_max_pool(Call& c) {
  const Expr x = c.in(0);
  const Windows w = windows_of(c, x, c.list("kernel_shape"));
  const double lowest = is_float(x.dtype()) ? -std::numeric_limits<double>::infinity() : 0;
  return {fold_windows(Op::maximum, pad_spatial(x, w, lowest), w)};
}

/// Divides by the number of elements under the window: all of the kernel, or without those of the padding.
std::vector<Expr> import_average_pool(Call& c) {
  const Expr x = c.in(0);
  const Windows w = windows_of(c, x, c.list("kernel_shape"));
  const Expr total = fold_windows(Op::add, pad_spatial(x, w, 0), w);
  const bool with_padding = c.integer("count_include_pad", 0) != 0;
  const Expr ones = broadcast_to(constant(c.graph(), x.dtype(), 1), x.shape());
  return {total / fold_windows(Op::add, pad_spatial(ones, w, with_padding ? 1 : 0), w)};
}

Handler global_pool(bool average) {
  return [average](Call& c) -> std::vector<Expr> {
    const Expr x = c.in(0);
    Lengths axes;
    for (std::int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
    return {average ? mean(x, axes, true) : reduce(Op::max, x, axes, true)};
  };
}

/// A sum over kernel positions of products over the channels: W at a position, (M, C), with x there, (N, C,
/// …).
std::vector<Expr> import_conv(Call& c) {
  if (c.integer("group", 1) != 1) unsupported(c, "groups");
  const Expr x = c.in(0), weights = c.in(1);
  const Lengths all = weights.shape();
  const Windows w = windows_of(c, x, Lengths(all.begin() + 2, all.end()));
  std::optional<Expr> result;
  for_each_position(pad_spatial(x, w, 0), w, [&](const Lengths& position, const Expr& elements) {
    std::vector<ir::Range> ranges(2);
    for (std::int64_t at : position) ranges.push_back({at, at + 1});
    const Expr matrix = reshape(slice(weights, ranges), {all[0], all[1]});
    const Expr product = matmul(matrix, reshape(elements, {elements.length(0), all[1], -1}));
    result = result ? *result + product : product;
  });
  Lengths shape{x.length(0), all[0]};
  shape.insert(shape.end(), w.counts.begin(), w.counts.end());
  const Expr y = reshape(result.value(), shape);
  if (!c.has(2)) return {y};
  Lengths channels(shape.size(), 1);
  channels[1] = all[0];
  return {y + reshape(c.in(2), channels)};
}

/// Divides by a power of the sum of squares over neighbouring channels.
std::vector<Expr> import_lrn(Call& c) {
  const Expr x = c.in(0);
  const std::int64_t size = c.integer("size", 1), channels = x.length(1);
  Lengths before(static_cast<std::size_t>(x.rank()), 0), after = before;
  before[1] = (size - 1) / 2;
  after[1] = size - 1 - before[1];
  const Expr squares = x * x;
  const Expr padded{x.graph, ir::pad(*x.graph, squares.value, before, after, ir::Literal{0.0})};
  std::optional<Expr> total;
  for (std::int64_t i = 0; i < size; ++i) {
    const Expr shifted = slice(padded, {ir::Range{}, ir::Range{i, i + channels}});
    total = total ? *total + shifted : shifted;
  }
  const double alpha = c.real("alpha", 1e-4) / static_cast<double>(size);
  return {x / apply(Op::pow, {*total * alpha + c.real("bias", 1.0), c.real("beta", 0.75)})};
}

/// round(x / scale) + zero point, saturated.
std::vector<Expr> import_quantize_linear(Call& c) {
  const Expr x = c.in(0);
  const std::int64_t axis = c.integer("axis", 1);
  const auto along = [&](const Expr& v) {
    if (v.rank() == 0) return v;
    Lengths shape(static_cast<std::size_t>(x.rank()), 1);
    shape.at(static_cast<std::size_t>(
        ir::normalize_axis(axis, static_cast<int>(x.rank()), "QuantizeLinear"))) = v.elements();
    return reshape(v, shape);
  };
  const DType dtype = c.has(2) ? c.in(2).dtype() : DType::uint8;
  Expr y = apply(Op::round, {x / along(c.in(1))});
  if (c.has(2)) y = y + along(c.in(2));
  return {cast(y, dtype)};  // a cast to a whole number saturates
}

std::vector<Expr> import_dequantize_linear(Call& c) {
  const Expr x = c.in(0);
  const auto along = [&](const Expr& v) {
    if (v.rank() == 0) return v;
    Lengths shape(static_cast<std::size_t>(x.rank()), 1);
    shape.at(1) = v.elements();
    return reshape(v, shape);
  };
  Expr y = cast(x, DType::f32);
  if (c.has(2)) y = y - along(c.in(2));
  return {y * along(c.in(1))};
}

}  // namespace

Handlers product_handlers() {
  return {
      {"MatMul", import_matmul},
      {"MatMulInteger", import_matmul_integer},
      {"Gemm", import_gemm},
      {"Einsum", import_einsum},
      {"MaxPool", import_max_pool},
      {"AveragePool", import_average_pool},
      {"GlobalMaxPool", global_pool(false)},
      {"GlobalAveragePool", global_pool(true)},
      {"Conv", import_conv},
      {"LRN", import_lrn},
      {"QuantizeLinear", import_quantize_linear},
      {"DequantizeLinear", import_dequantize_linear},
  };
}

}  // namespace sinter::testing::onnx
