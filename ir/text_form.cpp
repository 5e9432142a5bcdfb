#include "ir/text_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace sinter::ir {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Tries ever more digits until the number comes back; 17 always do. std::to_chars knows no locale.
std::string spell_finite(const Scalar& value) {
  const auto number = static_cast<double>(value.real());
  char digits[40];
  std::string text;
  for (int precision = 1; precision <= 17; ++precision) {
    text.assign(
        digits,
        std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, precision).ptr);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (encode_float(value.dtype, back) == value.bits) break;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && name[0] != '.' &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '.'; });
}

std::string spell_name(std::string_view name) {
  if (is_plain_name(name)) return std::string(name);
  std::string text = "\"";
  for (char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      text += {'\\', c};
    else if (c == '\n')
      text += "\\n";
    else if (c == '\r')
      text += "\\r";
    else if (c == '\t')
      text += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  return text + '"';
}

std::string spell_number(const Scalar& value) {
  if (is_bool(value.dtype)) return value.bits ? "true" : "false";
  if (!is_float(value.dtype)) return fmt::format("{}", value.whole());
  const long double number = value.real();
  if (std::isnan(number)) {
    const bool usual = encode_float(value.dtype, std::numeric_limits<long double>::quiet_NaN()) == value.bits;
    return usual ? "nan" : fmt::format("nan:{:#x}", value.bits);
  }
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return spell_finite(value);
}

std::string spell_scalar(const Scalar& value) {
  return fmt::format("{}({})", name(value.dtype), spell_number(value));
}

std::span<const std::string_view> attribute_names(Op op) {
  using Names = std::string_view[];
  static constexpr Names reduction{"axes", "axis", "keepdims", "dtype"}, axes{"axes"}, axis{"axis"},
      shape{"shape"}, dtype{"dtype"}, slice{"starts", "lengths", "steps", "ranges"},
      pad{"before", "after", "value"}, iota{"shape", "axis", "dtype"}, scatter{"axis", "lengths"};
  if (is_reduction(op)) return reduction;
  if (is_scatter(op) && scatter_form(op) == ScatterForm::by_index) return scatter;
  if (is_gather(op) || is_scatter(op) || op == Op::concat) return axis;
  if (op == Op::cast) return dtype;
  if (op == Op::broadcast_to || op == Op::reshape || op == Op::random_bits) return shape;
  if (op == Op::permute_dims || op == Op::flip) return axes;
  if (op == Op::slice) return slice;
  if (op == Op::pad) return pad;
  if (op == Op::iota) return iota;
  return {};
}

}  // namespace sinter::ir
