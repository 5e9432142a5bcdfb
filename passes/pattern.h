// Rewrite rules as text: "neg(neg(x))" is a pattern that the nodes of a graph are matched against, "x" what
// they become.
//
// A pattern is written in the op names of the graph's text form. The letters x y z stand for any value and k
// l m for any constant, the same letter for the same value; a number (also inf, -inf, true, false) stands for
// the constant of that value, and 0 is not -0.0. Operands of commutative ops match in either order.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace sinter::passes {

/// What the letters of a pattern stand for.
class PatternBindings {
 public:
  ir::Value& operator[](char letter) { return values_[static_cast<std::size_t>(letter - 'k')]; }
  ir::Value operator[](char letter) const { return values_[static_cast<std::size_t>(letter - 'k')]; }

 private:
  std::array<ir::Value, 16> values_;  // k to z
};

constexpr bool is_constant_letter(char letter) {
  return letter >= 'k' && letter <= 'm';
}

struct PatternTerm {
  enum class Kind : std::uint8_t { letter, literal, node };
  Kind kind = Kind::letter;
  char letter = 'x';
  long double number = 0;
  ir::Op op = ir::Op::neg;
  int arity = 0;
  std::array<int, 3> operands{};  // indices of terms
};

/// A pattern as a tree; terms[0] is its root.
struct Pattern {
  std::vector<PatternTerm> terms;
};

/// Throws ValueError on text that is no pattern.
Pattern parse_pattern(std::string_view text);

/// The letters in order of appearance.
std::vector<char> letters(const Pattern& pattern);

/// Whether the nodes that end in `v` have the form of the pattern; binds its letters.
bool match(const ir::Graph& graph, ir::Value v, const Pattern& pattern, PatternBindings& bindings);

/// Called for each node that a pattern's text asks for.
using MakeNode = std::function<ir::Value(ir::Op, std::span<const ir::Value>)>;

/// The pattern with its letters replaced, made by `make`. A number takes the dtype of the operands beside it,
/// and `result` where there are none.
ir::Value instantiate(ir::Graph& graph, const Pattern& pattern, const PatternBindings& bindings, DType result,
                      const MakeNode& make);

}  // namespace sinter::passes
