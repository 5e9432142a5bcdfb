// The operations of the graph and what is known of each; expanded from the op table, ir/ops.def.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sinter/dtype.h"

namespace sinter::ir {

enum class Op : std::uint8_t {
#define SINTER_ELEMENTWISE(id, ...) id,
#define SINTER_REDUCTION(id, ...) id,
#define SINTER_MOVEMENT(id, ...) id,
#define SINTER_GATHER(id, ...) id,
#define SINTER_SCATTER(id, ...) id,
#define SINTER_SEARCH(id, ...) id,
#define SINTER_CONTRACTION(id, ...) id,
#define SINTER_GENERATOR(id, ...) id,
#include "ir/ops.def"
};

enum class Family : std::uint8_t {
  elementwise,
  reduction,
  movement,
  gather,
  scatter,
  search,
  contraction,
  generator
};

/// Which operand dtypes an elementwise operation admits once its operands have met in one dtype T, and its
/// result.
enum class DTypeRule : std::uint8_t {
  numeric,   // whole numbers and floats; T
  floating,  // floats (whole numbers and bool are cast to f32 first); T
  ordered,   // any; T
  test,      // any; bool
  compare,   // any; bool
  logical,   // bool (others are compared with zero first); bool
  bitwise,   // whole numbers and bool; T
  shift,     // whole numbers; T
  select,    // bool, then two of T; T
  cast,      // any; the attribute
};

enum Flag : unsigned {
  commutative = 1,
  exact = 2,  // every mode gives the correctly rounded (or the exact) value
  monotone = 4,
  discrete = 8,       // a small change of an operand can jump the result
  wraps = 16,         // whole-number arithmetic that may overflow
  device_form = 32,   // the device has a faster f32 form within the bound of docs/numerics.md
  narrow_form = 64,   // there is a faster f32 form for values that end in 16 bits
  coarse_form = 128,  // there is a faster one yet for values that end in bf16
};

using FloatReference = long double (*)(long double a, long double b, long double c);
using WholeReference = std::int64_t (*)(std::int64_t a, std::int64_t b, std::int64_t c, DType t);

struct ElementwiseInfo {
  Op op;
  int arity;
  DTypeRule rule;
  std::string_view emit;  // C-like text, $0 $1 $2 the operands
  FloatReference float_reference;
  WholeReference whole_reference;
  unsigned flags;
  int flops;
  std::string_view derivative;

  bool is(Flag f) const { return (flags & f) != 0; }
};

enum class Identity : std::uint8_t { zero, one, lowest, highest };
/// wide: whole numbers and bool fold in and return int64, 16-bit floats fold in f32; same: the operand's
/// dtype; truth: bool; index: compares in the operand's dtype and returns int64.
enum class Accumulator : std::uint8_t { wide, same, truth, index };

struct ReductionInfo {
  Op op;
  Op combine;
  Identity identity;
  Accumulator accumulator;
};

/// by_index: an index tensor says for each slice of the source where it is added; by_segment: the slices are
/// taken in an order, and starts say where in it each slice of the result begins.
enum class ScatterForm : std::uint8_t { by_index, by_segment };

constexpr Family family(Op op) {
  constexpr std::array families{
#define SINTER_ELEMENTWISE(...) Family::elementwise,
#define SINTER_REDUCTION(...) Family::reduction,
#define SINTER_MOVEMENT(...) Family::movement,
#define SINTER_GATHER(...) Family::gather,
#define SINTER_SCATTER(...) Family::scatter,
#define SINTER_SEARCH(...) Family::search,
#define SINTER_CONTRACTION(...) Family::contraction,
#define SINTER_GENERATOR(...) Family::generator,
#include "ir/ops.def"
  };
  return families[static_cast<std::size_t>(op)];
}

constexpr bool is_elementwise(Op op) {
  return family(op) == Family::elementwise;
}
constexpr bool is_reduction(Op op) {
  return family(op) == Family::reduction;
}
constexpr bool is_movement(Op op) {
  return family(op) == Family::movement;
}
constexpr bool is_gather(Op op) {
  return family(op) == Family::gather;
}
constexpr bool is_scatter(Op op) {
  return family(op) == Family::scatter;
}
constexpr bool is_search(Op op) {
  return family(op) == Family::search;
}
constexpr bool is_generator(Op op) {
  return family(op) == Family::generator;
}

/// Name in the text form: "mul".
std::string_view name(Op op);
/// Name of the function users call: "multiply".
std::string_view api_name(Op op);
/// One line for people.
std::string_view doc(Op op);
/// The op of that text name or API name, or nothing.
std::optional<Op> op_from_name(std::string_view text);
/// All operations, in the table's order.
extern const std::array<Op,
                        []() {
                          std::size_t n = 0;
#define SINTER_ELEMENTWISE(...) ++n;
#define SINTER_REDUCTION(...) ++n;
#define SINTER_MOVEMENT(...) ++n;
#define SINTER_GATHER(...) ++n;
#define SINTER_SCATTER(...) ++n;
#define SINTER_SEARCH(...) ++n;
#define SINTER_CONTRACTION(...) ++n;
#define SINTER_GENERATOR(...) ++n;
#include "ir/ops.def"
                          return n;
                        }()>
    all_ops;

/// Only for the elementwise family.
const ElementwiseInfo& elementwise_info(Op op);
/// Only for the reduction family.
const ReductionInfo& reduction_info(Op op);

/// Only for the scatter family.
ScatterForm scatter_form(Op op);
/// Number of operands; only for the search family.
int search_arity(Op op);

/// Whether the operand must lie in memory as it is, since an element of the result reads it at places that
/// only reading it tells.
bool reads_memory(Op op, std::size_t operand);

/// True when operands of dtype T (bool, whole, float) are admitted as they are, without a cast.
bool admits(DTypeRule rule, DType t);

/// Dtype of a reduction's result for an operand dtype.
DType reduction_result(Op op, DType operand);

}  // namespace sinter::ir
