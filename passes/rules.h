// The rewrite rules of the pass `simplify`, as tables, so that tests can check each rule by itself and
// docs/rules.md can list them.
//
// Rules of algebra are text (passes/pattern.h). Rules about casts and movement look at attributes and are
// functions. Each makes the graph smaller, cheaper, or nearer to a normal form, so applying them in any order
// ends.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "passes/pattern.h"
#include "sinter/numerics.h"

namespace sinter::passes {

enum class RuleClass : std::uint8_t {
  exact,      // the same bits for every operand, NaN being NaN; every mode
  shape,      // moves elements without a change to any; every mode
  function,   // as accurate as what it replaces promises, with its special values, but not the same bits; not
              // strict
  narrow,     // no less accurate once rounded to 16 bits; standard where the value ends in 16 bits, and fast
  real_only,  // true of real numbers: rounding, overflow, NaN or -0.0 may differ; fast
};

std::string_view name(RuleClass c);
/// `ends_narrow`: the value is f32 and ends in 16 bits (see narrow_values).
bool allowed(RuleClass c, Numerics numerics, bool ends_narrow = false);
/// Whether a rule for a value of 16 bits waits until the pass `precision` has made it one of f32: the
/// constants that it makes of others would be rounded to 16 bits.
bool waits_for_precision(RuleClass c);

/// Kinds of dtypes that a rule holds for: of its letter x, or of the result where there is none.
enum RuleTypes : unsigned {
  floats = 1,
  signed_wholes = 2,
  unsigned_wholes = 4,
  bools = 8,
  wholes = signed_wholes | unsigned_wholes,
  signed_numbers = floats | signed_wholes,
  numbers = floats | wholes,
  any_type = numbers | bools,
};
bool admits(unsigned types, DType t);

struct AlgebraRule {
  std::string_view name;
  RuleClass rule_class;
  unsigned types;
  std::string_view from, to;
  bool (*when)(ir::Scalar k) = nullptr;  // asked of the constant k
  std::string_view condition = {};       // the same in words
};

std::span<const AlgebraRule> algebra_rules();

/// What a coded rule may use.
struct RuleContext {
  ir::Graph& graph;
  bool precision_decided;  // nothing computes in 16 bits, so a 16-bit value is one that has been rounded
  const std::function<ir::Value(ir::Op, std::span<const ir::Value>, const ir::Attrs&)>&
      make;  // makes, simplified
};

struct CodedRule {
  std::string_view name;
  RuleClass rule_class;
  std::string_view text;
  bool (*roots)(ir::Op);
  /// What `v` becomes, or an invalid value.
  ir::Value (*apply)(const RuleContext& context, ir::Value v);
};

std::span<const CodedRule> cast_rules();
std::span<const CodedRule> movement_rules();
std::span<const CodedRule> composition_rules();

/// All rules as the Markdown of docs/rules.md.
std::string rules_markdown();

}  // namespace sinter::passes
