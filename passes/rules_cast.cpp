#include <array>

#include "passes/rules.h"

namespace sinter::passes {
namespace {

using ir::Op;
using ir::Value;

/// Bits of magnitude that a dtype holds without rounding: significand bits of floats, value bits of whole
/// numbers.
int precision_bits(DType t) {
  switch (t) {
    case DType::f64:
      return 53;
    case DType::f32:
      return 24;
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    case DType::int8:
      return 7;
    case DType::uint8:
      return 8;
    case DType::int32:
      return 31;
    case DType::int64:
      return 63;
    case DType::boolean:
      break;
  }
  return 1;
}

/// Whether every value of `from` is one of `to`, so that the cast changes no value.
bool holds_all(DType to, DType from) {
  if (to == from || is_bool(from)) return true;
  if (is_bool(to)) return false;
  if (is_float(from)) {
    if (!is_float(to)) return false;
    return to == DType::f64 || (to == DType::f32 && from != DType::f64);
  }
  // The most negative number is a power of two, which every float of these precisions holds, too.
  if (is_float(to)) return precision_bits(to) >= precision_bits(from);
  return precision_bits(to) >= precision_bits(from) && (from == DType::uint8 || to != DType::uint8);
}

Value cast(const RuleContext& c, Value x, DType to) {
  if (c.graph.dtype(x) == to) return x;
  ir::Attrs attrs;
  attrs.dtype = to;
  return c.make(Op::cast, {&x, 1}, attrs);
}

Value drop_idle_cast(const RuleContext& c, Value v) {
  const Value x = c.graph.operands(v)[0];
  return c.graph.dtype(x) == c.graph.dtype(v) ? x : Value{};
}

/// cast(cast(x, W), D) = cast(x, D) where W holds every value of x's dtype.
Value drop_widening(const RuleContext& c, Value v) {
  const Value middle = c.graph.operands(v)[0];
  if (c.graph.op(middle) != Op::cast) return {};
  const Value x = c.graph.operands(middle)[0];
  const DType t = c.graph.dtype(x), w = c.graph.dtype(middle), d = c.graph.dtype(v);
  if (!holds_all(w, t)) return {};
  // A float saturates in a whole-number dtype where a whole number wraps.
  if (is_whole(t) && is_float(w) && is_whole(d) && !holds_all(d, t)) return {};
  // Until rounding is decided, x may yet turn out to be kept in more bits, which the written casts forbid.
  if (d == t && is_16bit_float(t) && !c.precision_decided) return {};
  return cast(c, x, d);
}

/// cast(cast(x, W), D) = cast(x, D) for whole numbers of falling width: wrapping twice is wrapping once.
Value drop_wrap(const RuleContext& c, Value v) {
  const Value middle = c.graph.operands(v)[0];
  if (c.graph.op(middle) != Op::cast) return {};
  const Value x = c.graph.operands(middle)[0];
  const DType t = c.graph.dtype(x), w = c.graph.dtype(middle), d = c.graph.dtype(v);
  if (!is_whole(t) || !is_whole(w) || !is_whole(d) || size_of(d) > size_of(w)) return {};
  return cast(c, x, d);
}

constexpr auto is_cast = [](Op op) { return op == Op::cast; };

constexpr std::array rules{
    CodedRule{"idle_cast", RuleClass::exact, "a cast to the dtype that x has → x", is_cast, drop_idle_cast},
    CodedRule{
        "widening_cast", RuleClass::exact,
        "cast(cast(x, W), D) → cast(x, D) where W holds every value of x's dtype, as in f16 → f32 → f16",
        is_cast, drop_widening},
    CodedRule{"wrapping_cast", RuleClass::exact,
              "cast(cast(x, W), D) → cast(x, D) for whole numbers where D is no wider than W", is_cast,
              drop_wrap},
};

}  // namespace

std::span<const CodedRule> cast_rules() {
  return rules;
}

}  // namespace sinter::passes
