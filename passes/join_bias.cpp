#include "passes/join_bias.h"

#include <vector>

#include "ir/rewrite.h"
#include "passes/partition.h"

namespace sinter::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::Value;

/// The value that a cast to f32 widens, or none.
Value widened(const Graph& g, Value v) {
  if (g.op(v) != Op::cast || g.dtype(v) != DType::f32) return {};
  const Value from = g.operands(v)[0];
  return is_16bit_float(g.dtype(from)) ? from : Value{};
}

/// A bias in f32: movements of a widened input, or a widened movement of it.
struct WideBias {
  Value narrow;                  // what is widened
  std::vector<Value> movements;  // over the cast, from the innermost
};

std::optional<WideBias> wide_bias(const Graph& g, Value v) {
  WideBias result;
  while (ir::is_movement(g.op(v)) && g.operands(v).size() == 1) {
    result.movements.insert(result.movements.begin(), v);
    v = g.operands(v)[0];
  }
  result.narrow = widened(g, v);
  if (!result.narrow.valid()) return std::nullopt;
  return result;
}

/// Whether rows are multiples of 16 bytes. For other lengths cuBLASLt may take a kernel that rounds the
/// product to 16 bits first and the sum with the bias once more.
bool in_whole_vectors(const Graph& g, const ir::Shape& shape) {
  constexpr std::int64_t elements = 8;
  return shape[shape.rank() - 1].known_divisor(g.facts()) % elements == 0;
}

class Joiner {
 public:
  Joiner(const Graph& from, const InputStrides& inputs)
      : uses_(ir::count_uses(from)), views_(memory_views(from, inputs)) {}

  Value visit(ir::Rewriter& r, Value old) {
    const Graph& g = r.from;
    if (g.op(old) == Op::cast)  // back to 16 bits: the sum itself
      if (const Value sum = widened(r.to, r[g.operands(old)[0]]); sum.valid())
        if (r.to.dtype(sum) == g.dtype(old) && biased_product(r.to, sum)) return sum;
    if (g.op(old) != Op::add || g.dtype(old) != DType::f32) return r.copy(old);
    for (int side : {0, 1}) {
      const Value wide = g.operands(old)[static_cast<std::size_t>(side)],
                  other = g.operands(old)[static_cast<std::size_t>(1 - side)];
      const Value product = widened(g, wide);
      if (!product.valid() || g.op(product) != Op::matmul || uses_[product.id] != 1 || uses_[wide.id] != 1)
        continue;
      const std::optional<WideBias> bias = wide_bias(g, other);
      if (!bias || g.dtype(bias->narrow) != g.dtype(product) ||
          !lies_in_a_row(g, *bias, g.shape(old)[g.shape(old).rank() - 1]))
        continue;
      return joined(r, old, r[product], *bias);
    }
    return r.copy(old);
  }

 private:
  bool lies_in_a_row(const Graph& g, const WideBias& bias, const ir::Dim& length) const {
    std::optional<ir::View> view = views_[bias.narrow.id];
    if (!view || g.op(view->base) != Op::input) return false;
    Value last = bias.narrow;
    for (Value movement : bias.movements) {
      view = ir::move_view(g, movement, *view);
      if (!view) return false;
      last = movement;
    }
    return is_row(g.shape(last), *view, length);
  }

  static Value joined(ir::Rewriter& r, Value old, Value product, const WideBias& bias) {
    const std::source_location where = r.from[old].location;
    Value row = r[bias.narrow];
    for (Value movement : bias.movements)
      row = r.to.add(r.from.op(movement), {&row, 1}, r.from.attrs(movement), where);
    const Value operands[] = {product, row};
    const Value sum = r.to.add(Op::add, operands, {}, where);
    if (!biased_product(r.to, sum)) return r.copy(old);
    ir::Attrs to_f32;
    to_f32.dtype = DType::f32;
    return r.to.add(Op::cast, {&sum, 1}, to_f32, where);
  }

  std::vector<std::uint32_t> uses_;
  std::vector<std::optional<ir::View>> views_;
};

}  // namespace

std::optional<BiasedProduct> biased_product(const Graph& g, Value sum) {
  if (g.op(sum) != Op::add || !is_float(g.dtype(sum)) || g.dtype(sum) == DType::f64) return std::nullopt;
  for (std::size_t side : {0u, 1u}) {
    const Value product = g.operands(sum)[side], bias = g.operands(sum)[1 - side];
    if (g.op(product) != Op::matmul || product == bias || g.shape(product) != g.shape(sum)) continue;
    const ir::Shape &left = g.shape(g.operands(product)[0]), &result = g.shape(product);
    if (result.is_empty() || left.is_empty()) continue;
    if (is_16bit_float(g.dtype(product)) && !(in_whole_vectors(g, result) && in_whole_vectors(g, left)))
      continue;
    return BiasedProduct{product, bias};
  }
  return std::nullopt;
}

bool is_row(const ir::Shape& shape, const ir::View& view, const ir::Dim& length) {
  const int last = shape.rank() - 1;
  if (last < 0 || shape[last] != length) return false;
  for (int axis = 0; axis <= last; ++axis) {
    const ir::Dim& stride = view.strides[static_cast<std::size_t>(axis)];
    if (!shape[axis].is(1) && !stride.is(axis == last ? 1 : 0)) return false;
  }
  return true;
}

Graph join_bias(const Graph& graph, const PassContext& context) {
  if (!context.library.adds_bias || context.numerics == Numerics::strict)
    return ir::without_dead_nodes(graph);
  Joiner joiner(graph, context.inputs);
  return ir::rewrite(graph, [&](ir::Rewriter& r, Value old) { return joiner.visit(r, old); });
}

}  // namespace sinter::passes
