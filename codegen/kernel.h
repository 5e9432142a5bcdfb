// The kernel IR: what one kernel computes, without saying how. A domain of axes, some of them folded by the
// kernel's reductions; values in an order in which they can be computed, each at one point of the domain;
// stores. Loads and stores say by an Affine over the axes where in a buffer an element lies; scalars are
// operations of the op table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/index_map.h"
#include "ir/op.h"
#include "ir/scalar.h"
#include "passes/math_forms.h"

namespace sinter::codegen {

struct KernelAxis {
  ir::Dim extent;
  bool reduced = false;  // folded by the kernel's reductions
  // Where rows fold only a part of the axis, each its own: the buffer of int64 that has, at these addresses,
  // the first element of the part and the one after its last.
  int bounds = -1;
  Affine first = {}, end = {};

  bool in_segments() const { return bounds >= 0; }
};

struct KernelBuffer {
  ir::Value value;  // the graph's value that it holds
  DType dtype;
  bool written = false;
  int alignment = 64;  // bytes that divide the address of the buffer's first element
  int partial = -1;   // its number among the results that one kernel of a group leaves in parts for the next,
                      // which are no value of the graph
  ir::Dim parts = 1;  // so many, one after the other; each is what one team of threads has folded
};

/// What a sum's terms are multiplied by where a value `row`, the same for the whole row, changes:
/// op(coefficient (row after - row before)), op exp or exp2.
struct Rescaling {
  int row;
  ir::Op op;
  passes::MathForm form;
  // The coefficient: values that are the same for the whole row, whatever the leader's result is.
  bool negative = false;
  std::vector<int> factors, divisors;
  bool operator==(const Rescaling&) const = default;
};

/// How a reduction can be folded along with another, its leader, on whose result it depends.
struct Join {
  int leader = -1;                   // none
  std::vector<Rescaling> rescaling;  // all of them
  bool deviations = false;  // or it adds up the squared distances of what the leader folds from its mean
};

struct KernelValue {
  enum class Kind : std::uint8_t {
    load,     // buffer, address; where guard is a value: only if that is true, else zero
    literal,  // literal
    index,    // address, as a number of this dtype
    inside,   // guard_range holds: bool
    wrap,     // operands[0], an index that may count from the end of an axis of this length, as int64
    within,   // operands[0], an index that is brought into an axis of this length
    search,   // op in the array of this length from the address on, every stride-th element, for operands
    compute,  // op over operands
    reduce,   // op folds operands[0] over the reduced axes, or across rows over the others
    random,   // operands key and counter; address is the element's number
  };
  Kind kind = Kind::compute;
  DType dtype = DType::f32;
  ir::Op op = ir::Op::add;
  passes::MathForm form = passes::MathForm::portable;  // compute
  bool across = false;  // reduce: over the axes that are not reduced; its results lie along those that are
  std::vector<int> operands;
  int buffer = -1;
  int guard = -1;  // a bool value, or -1
  Affine address;
  Guard range;
  ir::Dim length, stride;
  ir::Scalar literal;
  Join join;       // reduce
  ir::Value node;  // reduce: of the graph

  /// Whether a reduction reports a place, as argmax does, and so folds values with their places.
  bool finds_place() const {
    return kind == Kind::reduce && ir::reduction_info(op).accumulator == ir::Accumulator::index;
  }
};

struct KernelStore {
  int value;
  int buffer;
  Affine address;
  bool in_part = false;  // other kernels write other parts of the buffer
};

struct Kernel {
  std::string name;  // says what is fused: "fused_mul_tanh_add"
  std::vector<KernelAxis> axes;
  Atoms atoms;  // the first axes.size() are the axes
  std::vector<KernelBuffer> buffers;
  std::vector<KernelValue> values;
  std::vector<KernelStore> stores;
  ir::Facts facts;                 // about the symbols in lengths
  std::vector<std::string> apart;  // why reductions that need another's result are not folded along with it
  /// Folds must run in an order that nothing but the count of elements decides, so that fused and eager
  /// programs agree in bits. On the CPU they always do.
  bool fixed_fold_order = false;
  /// Length of the innermost folded axis before axes were joined: whether they can be depends on what else
  /// the kernel reads, and so may not decide that order.
  ir::Dim written_run = 1;

  bool has_reduction() const;
  /// The last axis that is reduced, or that is not; -1 where there is none.
  int innermost(bool reduced) const;
  bool folds_across() const;
  /// The axis of which each row folds a part of its own; -1 where there is none.
  int segment_axis() const;
  /// Per value: whether it is, or depends on, a fold across rows.
  std::vector<bool> after_all_rows() const;
  /// Per value: whether it differs along one of these axes.
  std::vector<bool> varies_along(const std::vector<int>& along) const;
  /// Whether an affine does; `varies` is that so far.
  bool varies_along(const std::vector<int>& along, const Affine& a, const std::vector<bool>& varies) const;
  /// Per value: whether it differs along a reduced axis, and so belongs into a loop over them.
  std::vector<bool> varies_in_row() const;
  /// Whether an affine differs along a reduced axis; `in_row` is varies_in_row so far.
  bool varies_in_row(const Affine& a, const std::vector<bool>& in_row) const;
  /// Whether a store is made at each element of a row, and not once for it.
  bool stores_in_row(const KernelStore& store, const std::vector<bool>& in_row) const;
  /// Product of the extents of the kept, or of the reduced axes.
  ir::Dim rows() const;
  ir::Dim row_length() const;
  /// Bytes that one run must move at least: each buffer's elements that it touches, once.
  ir::Dim bytes(bool written) const;
  /// The same for each buffer by itself.
  std::vector<ir::Dim> buffer_bytes(bool written) const;
  /// The IR as text, for people and tests.
  std::string str() const;
};

/// Calls `f` with every value that a value uses: operands, guard, and those in its index arithmetic.
void for_each_operand(const Kernel& kernel, int value, const std::function<void(int)>& f);

/// A value and what it is made of, in order, as far as `takes` goes; of what is `found` at hand nothing
/// further.
std::vector<int> made_of(const Kernel& kernel, int root, const std::function<bool(int)>& takes,
                         const std::function<bool(int)>& found = {});

/// The number in `to` of a buffer of `from`, copied when it is first asked for. `taken` has the number of
/// each buffer of `from`, -1 of what is not there yet.
int take_buffer(Kernel& to, const Kernel& from, int number, std::vector<int>& taken);

}  // namespace sinter::codegen
