#include "passes/pattern.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "ir/base/check.h"

namespace sinter::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::Value;

/// Recursive descent over a rule's text, which is a few terms deep.
class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  Pattern parse() {
    term();
    if (at_ != text_.size()) fail<ValueError>("pattern '{}': unexpected text at column {}", text_, at_);
    return std::move(pattern_);
  }

 private:
  int term() {
    const auto index = static_cast<int>(pattern_.terms.size());
    pattern_.terms.emplace_back();
    const std::string_view word = next_word();
    PatternTerm t;
    if (at_ < text_.size() && text_[at_] == '(') {
      t.kind = PatternTerm::Kind::node;
      const auto op = ir::op_from_name(word);
      if (!op) fail<ValueError>("pattern '{}': no op is named {}", text_, word);
      t.op = *op;
      do {
        ++at_;  // '(' or ','
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
        if (t.arity == 3) fail<ValueError>("pattern '{}': {} has too many operands", text_, word);
        t.operands[static_cast<std::size_t>(t.arity++)] = term();
      } while (at_ < text_.size() && text_[at_] == ',');
      if (at_ == text_.size() || text_[at_] != ')') fail<ValueError>("pattern '{}': expected ')'", text_);
      ++at_;
    } else if (word.size() == 1 && word[0] >= 'k' && word[0] <= 'z') {
      t.letter = word[0];
    } else {
      t.kind = PatternTerm::Kind::literal;
      t.number = number(word);
    }
    pattern_.terms[static_cast<std::size_t>(index)] = t;
    return index;
  }

  std::string_view next_word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  text_[at_] == '.' || text_[at_] == '-'))
      ++at_;
    return text_.substr(start, at_ - start);
  }

  long double number(std::string_view word) const {
    if (word == "true") return 1;
    if (word == "false") return 0;
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      fail<ValueError>("pattern '{}': '{}' is neither a letter nor a number", text_, word);
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Pattern pattern_;
};

bool is_literal(const ir::Graph& g, Value v, long double number) {
  if (g.op(v) != Op::constant) return false;
  const long double value = g.attrs(v).value.real();
  return value == number && (!is_float(g.dtype(v)) || std::signbit(value) == std::signbit(number));
}

bool match_term(const ir::Graph& g, Value v, const Pattern& p, int index, PatternBindings& b) {
  const PatternTerm& t = p.terms[static_cast<std::size_t>(index)];
  if (t.kind == PatternTerm::Kind::literal) return is_literal(g, v, t.number);
  if (t.kind == PatternTerm::Kind::letter) {
    if (is_constant_letter(t.letter) && g.op(v) != Op::constant) return false;
    if (b[t.letter].valid()) return b[t.letter] == v;
    b[t.letter] = v;
    return true;
  }
  if (g.op(v) != t.op) return false;
  const auto operands = g.operands(v);
  const auto all_match = [&](std::size_t first) {  // first: which of two operands comes first
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!match_term(g, operands[operands.size() == 2 ? i ^ first : i], p, t.operands[i], b)) return false;
    return true;
  };
  if (operands.size() != 2 || !ir::elementwise_info(t.op).is(ir::commutative)) return all_match(0);
  const PatternBindings before = b;
  if (all_match(0)) return true;
  b = before;
  return all_match(1);
}

Value build_term(ir::Graph& g, const Pattern& p, int index, const PatternBindings& b, DType context,
                 const MakeNode& make) {
  const PatternTerm& t = p.terms[static_cast<std::size_t>(index)];
  if (t.kind == PatternTerm::Kind::letter) return b[t.letter];
  if (t.kind == PatternTerm::Kind::literal) return g.constant(Scalar::from_real(context, t.number));
  std::array<Value, 3> operands;
  const auto arity = static_cast<std::size_t>(t.arity);
  const std::size_t first = t.op == Op::where ? 1 : 0;  // the condition is of a dtype of its own
  const auto is_number = [&](std::size_t i) {
    return p.terms[static_cast<std::size_t>(t.operands[i])].kind == PatternTerm::Kind::literal;
  };
  for (std::size_t i = 0; i < arity; ++i)
    if (!is_number(i)) operands[i] = build_term(g, p, t.operands[i], b, context, make);
  for (std::size_t i = first; i < arity; ++i)
    if (!is_number(i)) context = g.dtype(operands[i]);
  for (std::size_t i = 0; i < arity; ++i)
    if (is_number(i))
      operands[i] = build_term(g, p, t.operands[i], b, i < first ? DType::boolean : context, make);
  return make(t.op, {operands.data(), arity});
}

}  // namespace

Pattern parse_pattern(std::string_view text) {
  return PatternParser(text).parse();
}

std::vector<char> letters(const Pattern& pattern) {
  std::vector<char> found;
  for (const PatternTerm& t : pattern.terms)
    if (t.kind == PatternTerm::Kind::letter && std::find(found.begin(), found.end(), t.letter) == found.end())
      found.push_back(t.letter);
  return found;
}

bool match(const ir::Graph& graph, Value v, const Pattern& pattern, PatternBindings& bindings) {
  return match_term(graph, v, pattern, 0, bindings);
}

Value instantiate(ir::Graph& graph, const Pattern& pattern, const PatternBindings& bindings, DType result,
                  const MakeNode& make) {
  return build_term(graph, pattern, 0, bindings, result, make);
}

}  // namespace sinter::passes
