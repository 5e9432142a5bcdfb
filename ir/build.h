// The functions that bring what users write into the strict form of the graph: dtypes meet, shapes broadcast,
// axes count from the front, reductions fold in the dtype the table says. Used by the frontend, the parser
// and passes.
#pragma once

#include <optional>
#include <source_location>
#include <span>
#include <variant>

#include "ir/graph.h"

namespace sinter::ir {

using Where = std::source_location;

/// An operand as written: a node, or a number without a dtype.
using Operand = std::variant<Value, Literal>;

/// Dtype in which the operands meet: tensors promote; literals follow (see meet in ir/scalar.h).
DType common_dtype(const Graph& g, std::span<const Operand> operands);

Value cast(Graph& g, Value x, DType to, Where where = Where::current());

/// An elementwise op with promotion and broadcasting. `cast` is made by the function above.
Value elementwise(Graph& g, Op op, std::span<const Operand> operands, Where where = Where::current());

/// A reduction. No axes given means all of them; `dtype` is that of sum and prod when given.
Value reduce(Graph& g, Op op, Value x, std::optional<std::vector<std::int64_t>> axes, bool keepdims,
             std::optional<DType> dtype = {}, Where where = Where::current());

Value broadcast_to(Graph& g, Value x, const Shape& shape, Where where = Where::current());
/// One length may be -1: it is worked out.
Value reshape(Graph& g, Value x, Shape shape, Where where = Where::current());
Value permute_dims(Graph& g, Value x, std::vector<std::int64_t> axes, Where where = Where::current());

/// Start, stop and step of one axis as Python has them: negative positions count from the end, missing ones
/// mean "from the end where the step begins", and positions out of range are clamped.
struct Range {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};
/// One range per axis, from the first; missing ones take the whole axis.
Value slice(Graph& g, Value x, std::span<const Range> ranges, Where where = Where::current());
Value flip(Graph& g, Value x, std::optional<std::vector<std::int64_t>> axes, Where where = Where::current());
Value pad(Graph& g, Value x, std::span<const std::int64_t> before, std::span<const std::int64_t> after,
          const Literal& value, Where where = Where::current());
Value concat(Graph& g, std::span<const Value> tensors, std::int64_t axis, Where where = Where::current());
Value take_along_axis(Graph& g, Value x, Value index, std::int64_t axis, Where where = Where::current());
Value take(Graph& g, Value x, Value index, std::int64_t axis, Where where = Where::current());
/// Zeros of `length` along `axis`, with each slice of `source` added where its index says: the source has the
/// index's axes in place of `axis`.
Value scatter_add(Graph& g, Value source, Value index, std::int64_t axis, const Dim& length,
                  Where where = Where::current());
Value sum_segments(Graph& g, Value source, Value order, Value starts, std::int64_t axis,
                   Where where = Where::current());
/// An operation of the search family; literals are int64.
Value search(Graph& g, Op op, Value array, std::span<const Operand> numbers, Where where = Where::current());
/// NumPy's matmul: a vector on the left is a row, on the right a column; batch axes broadcast; dtypes
/// promote.
Value matmul(Graph& g, Value a, Value b, Where where = Where::current());
Value iota(Graph& g, const Shape& shape, std::int64_t axis, DType dtype, Where where = Where::current());
Value random_bits(Graph& g, Value key, Value counter, const Shape& shape, Where where = Where::current());

}  // namespace sinter::ir
