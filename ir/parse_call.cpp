#include "ir/parse_call.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "ir/base/check.h"
#include "ir/text_form.h"

namespace sinter::ir {
namespace {

/// A number token with an optional sign, of type T; fails when it is none or does not fit.
template <class T>
T read_as(Lexer& lexer, std::string_view what) {
  const std::size_t offset = lexer.peek().offset;
  const bool negative = lexer.take("-");
  if (lexer.peek().kind != TokenKind::number) lexer.fail_expecting(what);
  const Token token = lexer.next();
  const std::string text = fmt::format("{}{}", negative ? "-" : "", token.text);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Too small or too large for a double is the nearest of them: 0 or infinity.
  const bool out_of_range = error == std::errc::result_out_of_range;
  if (end != text.data() + text.size() || (error != std::errc{} && !out_of_range))
    lexer.fail_at(offset, fmt::format("expected {}, found '{}'", what, text));
  if (out_of_range) lexer.fail_at(offset, fmt::format("the number {} is out of range", text));
  return value;
}

bool is_real(std::string_view number) {
  return number.find_first_of(".eE") != std::string_view::npos;
}

/// A number without a dtype.
std::optional<Literal> read_literal(Lexer& lexer) {
  if (lexer.take("true")) return Literal{true};
  if (lexer.take("false")) return Literal{false};
  const bool negative = lexer.peek().is("-");
  const Token number = negative ? lexer.second() : lexer.peek();
  if (number.is("inf") || number.is("nan")) {
    if (negative) lexer.next();
    lexer.next();
    using Limits = std::numeric_limits<double>;
    const double value = number.is("inf") ? Limits::infinity() : Limits::quiet_NaN();
    return Literal{negative ? -value : value};
  }
  if (number.kind != TokenKind::number) return std::nullopt;
  if (is_real(number.text)) return Literal{read_as<double>(lexer, "a number")};
  return Literal{read_as<std::int64_t>(lexer, "a whole number")};
}

/// What stands in the parentheses of f32(...).
Scalar read_typed(Lexer& lexer, DType t) {
  if (lexer.peek().is("nan") && lexer.second().is(":")) {
    lexer.next();
    lexer.next();
    const Token bits = lexer.next();
    std::uint64_t value = 0;
    const std::string_view digits = bits.text.substr(std::min<std::size_t>(2, bits.text.size()));
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    const Scalar scalar{t, value};
    const bool fits = bits.text.starts_with("0x") && end == digits.data() + digits.size() &&
                      (size_of(t) == 8 || value >> (8 * size_of(t)) == 0);
    if (!fits || !is_float(t) || !std::isnan(scalar.real()))
      lexer.fail_at(bits.offset,
                    fmt::format("expected the bits of a NaN of {}, such as 0x7fc00001", name(t)));
    return scalar;
  }
  const std::size_t offset = lexer.peek().offset;
  const std::optional<Literal> literal = read_literal(lexer);
  if (!literal) lexer.fail_expecting("a number");
  try {
    return to_scalar(*literal, t);
  } catch (const DTypeError& error) {
    throw DTypeError(lexer.locate(offset, error.what()));
  }
}

template <class Item>
auto read_list(Lexer& lexer, Item item) {
  std::vector<decltype(item())> list;
  lexer.expect("[");
  while (!lexer.peek().is("]")) {
    list.push_back(item());
    if (!lexer.take(",")) break;
  }
  lexer.expect("]");
  return list;
}

Range read_range(Lexer& lexer) {
  Range range;
  auto position = [&]() -> std::optional<std::int64_t> {
    if (lexer.peek().is(":") || lexer.peek().is(",") || lexer.peek().is("]")) return std::nullopt;
    return read_as<std::int64_t>(lexer, "a position");
  };
  range.start = position();
  lexer.expect(":");
  range.stop = position();
  if (lexer.take(":")) range.step = position().value_or(1);
  return range;
}

/// Insertions, deletions, substitutions and swaps of neighbours between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// What other libraries call what ops do here, where the names are too far apart to be near.
constexpr std::pair<std::string_view, std::string_view> names_elsewhere[] = {
    {"arange", "iota"},
    {"cat", "concat"},
    {"clamp", "minimum and maximum"},
    {"clip", "minimum and maximum"},
    {"convert", "cast"},
    {"dot", "matmul"},
    {"einsum", "matmul and permute_dims"},
    {"expand", "broadcast_to"},
    {"gather", "take and take_along_axis"},
    {"gemm", "matmul"},
    {"index_add", "scatter_add"},
    {"index_select", "take"},
    {"mean", "sum and div"},
    {"rand", "random_bits"},
    {"relu", "maximum"},
    {"select", "where"},
    {"sigmoid", "neg, exp, add and reciprocal"},
    {"square", "mul"},
    {"stack", "reshape and concat"},
    {"transpose", "permute_dims"},
    {"tril", "iota and where"},
    {"triu", "iota and where"},
    {"view", "reshape"},
};

std::vector<std::string_view> nearest_op_names(std::string_view word) {
  std::vector<std::pair<std::size_t, std::string_view>> known;
  for (Op op : all_ops) {
    known.emplace_back(edit_distance(word, name(op)), name(op));
    if (api_name(op) != name(op)) known.emplace_back(edit_distance(word, api_name(op)), api_name(op));
  }
  std::ranges::sort(known);
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < 3; ++i) names.push_back(known[i].second);
  return names;
}

}  // namespace

std::vector<Dim> read_dims(Lexer& lexer) {
  return read_list(lexer, [&] {
    const std::size_t begin = lexer.peek().offset;
    std::size_t end = begin;
    while (!lexer.peek().is(",") && !lexer.peek().is("]") && lexer.peek().kind != TokenKind::end) {
      const Token token = lexer.next();
      end = token.offset + token.text.size();
    }
    try {
      return parse_dim(lexer.text().substr(begin, end - begin));
    } catch (const Error& error) {
      lexer.fail_at(begin, error.what());
    }
  });
}

DType read_dtype(Lexer& lexer) {
  const std::optional<DType> t = dtype_from_name(lexer.peek().text);
  if (!t) lexer.fail_expecting("a dtype (f64, f32, f16, bf16, int8, uint8, int32, int64 or bool)");
  lexer.next();
  return *t;
}

std::optional<std::variant<Literal, Scalar>> read_number(Lexer& lexer) {
  if (const std::optional<DType> t = dtype_from_name(lexer.peek().text); t && lexer.second().is("(")) {
    lexer.next();
    lexer.next();
    const Scalar scalar = read_typed(lexer, *t);
    lexer.expect(")");
    return scalar;
  }
  if (const std::optional<Literal> literal = read_literal(lexer)) return *literal;
  return std::nullopt;
}

Op read_op(const Lexer& lexer, const Token& word) {
  const std::optional<Op> op = op_from_name(word.text);
  const auto elsewhere =
      std::ranges::find(names_elsewhere, word.text, &std::pair<std::string_view, std::string_view>::first);
  if (!op && elsewhere != std::end(names_elsewhere))
    lexer.fail_at(word.offset,
                  fmt::format("unknown operation '{}'; here that is {}", word.text, elsewhere->second));
  if (!op)
    lexer.fail_at(word.offset, fmt::format("unknown operation '{}'; the nearest known are {} (composites "
                                           "such as softmax or gelu are written out)",
                                           word.text.substr(0, 60),
                                           fmt::join(nearest_op_names(word.text.substr(0, 60)), ", ")));
  if (*op == Op::input)
    lexer.fail_at(word.offset, "inputs are declared in the parentheses after the graph's name");
  return *op;
}

void WrittenAttributes::read(Lexer& lexer, Op op) {
  const Token key = lexer.next();
  lexer.expect("=");
  const auto names = attribute_names(op);
  if (std::ranges::find(names, key.text) == names.end())
    lexer.fail_at(key.offset, names.empty() ? fmt::format("{} takes no attributes", name(op))
                                            : fmt::format("{} takes no attribute '{}'; there are {}",
                                                          name(op), key.text, fmt::join(names, ", ")));
  auto once = [&](auto& field, auto value) {
    if (field) lexer.fail_at(key.offset, fmt::format("the attribute {} is given twice", key.text));
    field = std::move(value);
  };
  auto whole = [&] { return read_as<std::int64_t>(lexer, "a whole number"); };
  const bool takes_axes = std::ranges::find(names, "axes") != names.end();
  if (takes_axes && key.text.starts_with("ax") && lexer.peek().is("["))
    once(axes, read_list(lexer, whole));
  else if (takes_axes && key.text.starts_with("ax"))
    once(axes, std::vector<std::int64_t>{whole()});
  else if (key.text == "axis")
    once(axis, whole());
  else if (key.text == "steps")
    once(steps, read_list(lexer, whole));
  else if (key.text == "ranges")
    once(ranges, read_list(lexer, [&] { return read_range(lexer); }));
  else if (key.text == "dtype")
    once(dtype, read_dtype(lexer));
  else if (key.text == "keepdims" || key.text == "value") {
    const auto number = read_number(lexer);
    const Literal* literal = number ? std::get_if<Literal>(&*number) : nullptr;
    if (!number || (key.text == "keepdims" && !(literal && literal->is_bool())))
      lexer.fail_expecting(key.text == "value" ? "a number" : "true or false");
    if (key.text == "value")
      once(value, *number);
    else
      once(keepdims, std::get<bool>(literal->value));
  } else {
    auto& field = key.text == "shape"     ? shape
                  : key.text == "starts"  ? starts
                  : key.text == "lengths" ? lengths
                  : key.text == "before"  ? before
                                          : after;
    once(field, read_dims(lexer));
  }
}

}  // namespace sinter::ir
