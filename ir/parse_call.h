// One call of the text form, `sum(%x, axes=[1], keepdims=true)`, made into a node through ir/build.h.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/build.h"
#include "ir/lexer.h"

namespace sinter::ir {

/// The attributes written in a call; each is of the form that its name asks for.
struct WrittenAttributes {
  std::optional<std::vector<std::int64_t>> axes, steps;
  std::optional<std::int64_t> axis;
  std::optional<std::vector<Dim>> shape, starts, lengths, before, after;
  std::optional<std::vector<Range>> ranges;
  std::optional<std::variant<Literal, Scalar>> value;
  std::optional<DType> dtype;
  std::optional<bool> keepdims;

  /// Reads `name=value` where the lexer stands; fails on a name that `op` does not take, or that came before.
  void read(Lexer& lexer, Op op);
};

/// A number without a dtype (`-1`, `0.5`, `true`, `inf`), or with one (`f32(nan:0x7fc00001)`), if one is
/// next.
std::optional<std::variant<Literal, Scalar>> read_number(Lexer& lexer);

/// `[M, 2*N + 1, 4]`.
std::vector<Dim> read_dims(Lexer& lexer);
DType read_dtype(Lexer& lexer);

/// The op of that name; fails with the nearest known names.
Op read_op(const Lexer& lexer, const Token& word);

/// The node. Dtypes meet and shapes broadcast as the builder has it, but a cast or movement that changes
/// nothing is made all the same, so that a printed graph comes back whole. Throws the builder's own errors.
Value make_call(Graph& graph, Op op, const std::vector<Operand>& operands,
                const WrittenAttributes& attributes);

}  // namespace sinter::ir
