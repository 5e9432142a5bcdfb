#include "passes/lower_scatters.h"

#include <algorithm>
#include <bit>

#include "ir/base/check.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace sinter::passes {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Literal;
using ir::Op;
using ir::Operand;
using ir::Shape;
using ir::Value;

constexpr std::int64_t most = std::int64_t{1} << 31;  // indices, and rows: a key holds both
constexpr std::int64_t position_bits = 32;
constexpr std::int64_t largest_tile = 256;  // keys that are sorted by counting

Literal number(std::int64_t x) {
  return Literal{x};
}

/// The nodes that take the place of one scatter.
class Lowering {
 public:
  Lowering(Graph& g, std::source_location where, std::int64_t rows) : g_(g), where_(where), rows_(rows) {}

  Value sum(Value source, Value index, std::int64_t count, int axis) {
    const Value keys = sorted(keys_of(index, count));
    const Value order = apply(Op::bitwise_and, {keys, number((std::int64_t{1} << position_bits) - 1)});
    const Value row = ir::iota(g_, {Dim(rows_ + 1)}, 0, DType::int64, where_);
    const Operand least[] = {apply(Op::left_shift, {row, number(position_bits)})};
    const Value starts = ir::search(g_, Op::count_below, keys, least, where_);
    return ir::sum_segments(g_, source, order, starts, axis, where_);
  }

 private:
  Value apply(Op op, std::initializer_list<Operand> operands) {
    return ir::elementwise(g_, op, std::span(operands.begin(), operands.size()), where_);
  }
  Value shaped(Value x, std::initializer_list<Dim> dims) { return ir::reshape(g_, x, Shape(dims), where_); }

  /// The row of each slice, with its position below; slices out of range, and those that fill the last tile,
  /// come after all others.
  Value keys_of(Value index, std::int64_t count) {
    Value row = shaped(ir::cast(g_, index, DType::int64, where_), {Dim(count)});
    row = apply(Op::where, {apply(Op::less, {row, number(0)}), apply(Op::add, {row, number(rows_)}), row});
    const Value inside = apply(
        Op::logical_and, {apply(Op::greater_equal, {row, number(0)}), apply(Op::less, {row, number(rows_)})});
    row = apply(Op::where, {inside, row, number(rows_)});
    tile_ = std::min(largest_tile, static_cast<std::int64_t>(std::bit_ceil(
                                       static_cast<std::uint64_t>(std::max<std::int64_t>(count, 2)))));
    length_ = (count + tile_ - 1) / tile_ * tile_;
    const std::int64_t before[] = {0}, after[] = {length_ - count};
    if (length_ > count) row = ir::pad(g_, row, before, after, number(rows_), where_);
    return apply(Op::add, {apply(Op::left_shift, {row, number(position_bits)}), positions()});
  }

  Value positions() { return ir::iota(g_, {Dim(length_)}, 0, DType::int64, where_); }

  Value sorted(Value keys) {
    const Dim tiles(length_ / tile_), tile(tile_);
    const Value across = shaped(keys, {tiles, 1, tile});
    const Value less = apply(Op::less, {across, shaped(keys, {tiles, tile, 1})});
    const Value rank = ir::reduce(g_, Op::sum, less, std::vector<std::int64_t>{2}, false, {}, where_);
    const Value place = ir::iota(g_, {tile, 1}, 0, DType::int64, where_);
    const Value found = apply(Op::equal, {shaped(rank, {tiles, 1, tile}), place});
    const Value one = apply(Op::where, {found, across, number(0)});
    Value runs =
        shaped(ir::reduce(g_, Op::sum, one, std::vector<std::int64_t>{2}, false, {}, where_), {Dim(length_)});
    for (std::int64_t run = tile_; run < length_; run *= 2) {
      const Operand at[] = {positions(), number(run)};
      runs = ir::search(g_, Op::merged, runs, at, where_);
    }
    return runs;
  }

  Graph& g_;
  std::source_location where_;
  std::int64_t rows_, tile_ = 1, length_ = 1;
};

Value lower(ir::Rewriter& r, Value old) {
  const Graph& from = r.from;
  const std::span<const Value> operands = from.operands(old);
  const Shape &source = from.shape(operands[0]), &index = from.shape(operands[1]);
  const int axis = static_cast<int>(from.attrs(old).axes[0]);
  const Dim& rows = from.attrs(old).shape[0];
  const Dim count = index.elements();
  const std::source_location where = from[old].location;
  if (from.shape(old).is_empty() || source.is_empty()) {
    const Value zero = r.to.constant(ir::Scalar::from_whole(from.dtype(old), 0), where);
    return ir::broadcast_to(r.to, zero, from.shape(old), where);
  }
  if (!count.is_constant() || !rows.is_constant())
    fail<UnsupportedError>(
        "{}: the number of indices and the length of the axis must be known, and are {} and {}",
        ir::describe(from, from.op(old), operands), count.str(), rows.str());
  if (count.value() > most || rows.value() > most)
    fail<UnsupportedError>("{}: takes up to {} indices and rows, got {} and {}; add up parts of them",
                           ir::describe(from, from.op(old), operands), most, count.value(), rows.value());
  Shape flat;
  for (int i = 0; i < axis; ++i) flat.push_back(source[i]);
  flat.push_back(count);
  for (int i = axis + index.rank(); i < source.rank(); ++i) flat.push_back(source[i]);
  const Value slices = ir::reshape(r.to, r[operands[0]], flat, where);
  return Lowering(r.to, where, rows.value()).sum(slices, r[operands[1]], count.value(), axis);
}

}  // namespace

Graph lower_scatters(const Graph& graph, const PassContext&) {
  return ir::rewrite(graph, [](ir::Rewriter& r, Value old) {
    const Op op = r.from.op(old);
    const bool by_index = ir::is_scatter(op) && ir::scatter_form(op) == ir::ScatterForm::by_index;
    return by_index ? lower(r, old) : r.copy(old);
  });
}

}  // namespace sinter::passes
