// The operations on tensors: one function for each row of the op table, and the operators.
//
// Names are those of the array API standard. Operands are tensors, Vars and numbers (operand.h); dtypes meet
// and shapes broadcast as docs/numerics.md says. Called plainly, a function runs at once; inside a compiled
// function it is recorded. Every function throws ShapeError, DTypeError or ValueError for operands that break
// its rule, with the line of the call. docs/ops.md lists what each of them computes.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "sinter/operand.h"
#include "sinter/shape.h"
#include "sinter/tensor.h"
#include "sinter/var.h"

namespace sinter {

// Elementwise: `Tensor exp(Operand)`, `Tensor add(Operand, Operand)`, `Tensor where(Operand, Operand,
// Operand)` and so on, operands in the order of the table; astype takes the dtype besides.
#define SINTER_OPERANDS_1 Operand x
#define SINTER_OPERANDS_2 Operand x, Operand y
#define SINTER_OPERANDS_3 Operand x, Operand y, Operand z
#define SINTER_EXTRA_numeric
#define SINTER_EXTRA_floating
#define SINTER_EXTRA_ordered
#define SINTER_EXTRA_test
#define SINTER_EXTRA_compare
#define SINTER_EXTRA_logical
#define SINTER_EXTRA_bitwise
#define SINTER_EXTRA_shift
#define SINTER_EXTRA_select
#define SINTER_EXTRA_cast , DType dtype
#define SINTER_ELEMENTWISE(id, api, arity, rule, ...) Tensor api(SINTER_OPERANDS_##arity SINTER_EXTRA_##rule);
#include "sinter/ops.def"

/// Along which axes a reduction folds, and whether these stay with length 1.
///
///     max(x)                                        // of all elements
///     max(x, {.axes = {-1}, .keepdims = true})
struct ReduceOptions {
  Axes axes = {};
  bool keepdims = false;
};
/// For sum and prod, which also let the dtype be chosen in which they fold and that they return. Otherwise
/// floats keep theirs (16-bit ones fold in f32 and round once), whole numbers and bool give int64.
struct SumOptions {
  Axes axes = {};
  bool keepdims = false;
  std::optional<DType> dtype = std::nullopt;
};

// Reductions: `Tensor sum(Operand, SumOptions)`, `Tensor max(Operand, ReduceOptions)` and so on.
#define SINTER_OPTIONS_wide SumOptions
#define SINTER_OPTIONS_same ReduceOptions
#define SINTER_OPTIONS_truth ReduceOptions
#define SINTER_OPTIONS_index ReduceOptions
#define SINTER_REDUCTION(id, api, combine, identity, accumulator, ...) \
  Tensor api(Operand x, const SINTER_OPTIONS_##accumulator& options = {});
#include "sinter/ops.def"

#undef SINTER_OPERANDS_1
#undef SINTER_OPERANDS_2
#undef SINTER_OPERANDS_3
#undef SINTER_EXTRA_numeric
#undef SINTER_EXTRA_floating
#undef SINTER_EXTRA_ordered
#undef SINTER_EXTRA_test
#undef SINTER_EXTRA_compare
#undef SINTER_EXTRA_logical
#undef SINTER_EXTRA_bitwise
#undef SINTER_EXTRA_shift
#undef SINTER_EXTRA_select
#undef SINTER_EXTRA_cast
#undef SINTER_OPTIONS_wide
#undef SINTER_OPTIONS_same
#undef SINTER_OPTIONS_truth
#undef SINTER_OPTIONS_index

// Movement. On a tensor in memory all but pad, concat, stack and some reshapes give views.

/// Repeats axes of length 1, and adds leading axes.
Tensor broadcast_to(Operand x, const Shape& shape);
/// The same elements in row-major order; one length may be -1 and is worked out.
Tensor reshape(Operand x, const Shape& shape);
/// Axes in another order: axis i of the result is axis axes[i] of x.
Tensor permute_dims(Operand x, const std::vector<std::int64_t>& axes);
/// The last two axes exchanged.
Tensor matrix_transpose(Operand x);
/// One range per axis, from the first; axes without one are taken whole.
Tensor slice(Operand x, const std::vector<Range>& ranges);
Tensor flip(Operand x, const Axes& axes = {});
/// A number added around: before[i] and after[i] elements along axis i.
Tensor pad(Operand x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
           Operand value = 0);
/// Tensors joined along an axis; dtypes are promoted, the other lengths must be equal.
Tensor concat(std::initializer_list<Operand> tensors, std::int64_t axis = 0);
Tensor concat(const std::vector<Tensor>& tensors, std::int64_t axis = 0,
              Operand::Where where = Operand::Where::current());
/// Tensors of one shape joined along a new axis.
Tensor stack(std::initializer_list<Operand> tensors, std::int64_t axis = 0);
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t axis = 0,
             Operand::Where where = Operand::Where::current());
/// A new axis of length 1 at that place of the result.
Tensor expand_dims(Operand x, std::int64_t axis = 0);
/// Axes of length 1 removed; by default all of these.
Tensor squeeze(Operand x, const Axes& axes = {});

// Gathers. Negative indices count from the end; one out of range reads NaN, or 0 in whole numbers.

/// Slices of an axis, by an index tensor of any shape, which takes the axis's place.
Tensor take(Operand x, Operand index, std::int64_t axis);
/// One element of the axis per position, by an index tensor of the same rank.
Tensor take_along_axis(Operand x, Operand index, std::int64_t axis = -1);

// Scatters, the gradients of gathers. Negative indices count from the end; a slice whose index is out of
// range is dropped. The slices of one index are added in the order in which they lie in the source, so a
// result has the same bits at every run (docs/numerics.md says how); 16-bit floats add up in f32 and round
// once, whole numbers wrap.

/// Zeros of `length` along `axis`, with each slice of the source added where its index says. The source has
/// the index's axes in place of `axis`: the gradient of take(x, index, axis) is scatter_add(g, index, length,
/// axis), the sum of segments scatter_add(x, segment, segments). bool is no dtype to add: convert it with
/// astype.
Tensor scatter_add(Operand source, Operand index, std::int64_t length, std::int64_t axis = 0);
/// The same added to x.
Tensor index_add(Operand x, Operand index, Operand source, std::int64_t axis = 0);

/// Matrix product over the last two axes; a vector on the left is a row, on the right a column; leading axes
/// broadcast.
Tensor matmul(Operand x, Operand y);

/// Whether shape, dtype and every element are equal; NaN differs from itself. Runs at once.
bool array_equal(const Tensor& x, const Tensor& y);
/// Whether shapes are equal and |x - y| <= atol + rtol * |y| everywhere; NaN is close to NaN, an infinity to
/// itself.
bool allclose(const Tensor& x, const Tensor& y, double rtol = 1e-5, double atol = 1e-8);

// Operators. Comparisons give a tensor of bool; see Tensor::operator bool for what that means in an `if`.
Tensor operator+(Operand x, Operand y);
Tensor operator-(Operand x, Operand y);
Tensor operator*(Operand x, Operand y);
Tensor operator/(Operand x, Operand y);
Tensor operator%(Operand x, Operand y);  // remainder, with the sign of y
Tensor operator-(Operand x);
Tensor operator+(Operand x);
Tensor operator==(Operand x, Operand y);
Tensor operator!=(Operand x, Operand y);
Tensor operator<(Operand x, Operand y);
Tensor operator<=(Operand x, Operand y);
Tensor operator>(Operand x, Operand y);
Tensor operator>=(Operand x, Operand y);
Tensor operator&(Operand x, Operand y);
Tensor operator|(Operand x, Operand y);
Tensor operator^(Operand x, Operand y);
Tensor operator~(Operand x);
/// logical_not. It takes no Operand, for which the `!` of Tensor's operator bool would be as good a match; so
/// this one operation notes no line.
Tensor operator!(const Tensor& x);
Tensor operator<<(Operand x, Operand y);
Tensor operator>>(Operand x, Operand y);

}  // namespace sinter
