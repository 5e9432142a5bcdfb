#include <fmt/format.h>

#include "passes/rules.h"

namespace sinter::passes {
namespace {

std::string types_in_words(unsigned types) {
  switch (types) {
    case any_type:
      return "any";
    case numbers:
      return "numbers";
    case signed_numbers:
      return "signed numbers";
    case floats:
      return "floats";
    case wholes:
      return "whole numbers";
    case bools:
      return "bool";
    case wholes | bools:
      return "whole numbers, bool";
    default:
      return "";
  }
}

std::string algebra_table(RuleClass rule_class) {
  std::string text = "| rule | from | to | holds for |\n|---|---|---|---|\n";
  for (const AlgebraRule& rule : algebra_rules()) {
    if (rule.rule_class != rule_class) continue;
    text += fmt::format("| {} | `{}` | `{}` | {}{}{} |\n", rule.name, rule.from, rule.to,
                        types_in_words(rule.types), rule.condition.empty() ? "" : "; ", rule.condition);
  }
  return text;
}

std::string coded_table(std::span<const CodedRule> rules) {
  std::string text = "| rule | class | meaning |\n|---|---|---|\n";
  for (const CodedRule& rule : rules)
    text += fmt::format("| {} | {} | {} |\n", rule.name, name(rule.rule_class), rule.text);
  return text;
}

}  // namespace

std::string rules_markdown() {
  return fmt::format(
      R"(# Rewrite rules

The pass `simplify` (passes/simplify.h) applies these rules, each in the numeric modes that its class allows (see
numerics.md). This page is made from the tables in passes/rules_*.cpp; `WRITE_DOCS=1 build/tests/test_passes` writes it.
In the text of a rule x y z w stand for any value, k l m for any constant, and 0 is not -0.0; operands of commutative
ops match in either order.

## Exact: the same bits for every operand, in every mode

{}
## Function: as accurate as what it replaces promises, with the same special values; standard and fast

{}
## Narrow: no less accurate once rounded to 16 bits; standard where the value ends in 16 bits, and fast

{}
## Real only: true of real numbers, while rounding, overflow, NaN or -0.0 may differ; fast

{}
## Casts

{}
## Movement

{}
## Combinations

{})",
      algebra_table(RuleClass::exact), algebra_table(RuleClass::function), algebra_table(RuleClass::narrow),
      algebra_table(RuleClass::real_only), coded_table(cast_rules()), coded_table(movement_rules()),
      coded_table(composition_rules()));
}

}  // namespace sinter::passes
