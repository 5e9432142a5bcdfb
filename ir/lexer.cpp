#include "ir/lexer.h"

#include <algorithm>

#include "ir/base/check.h"

namespace sinter::ir {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_word_start(c) || is_digit(c) || c == '.';
}
bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t number_length(std::string_view text) {
  auto digits = [&](std::size_t at) {
    while (at < text.size() && is_digit(text[at])) ++at;
    return at;
  };
  if (text.starts_with("0x"))
    return std::min(text.find_first_not_of("0123456789abcdefABCDEF", 2), text.size());
  std::size_t end = digits(0);
  if (end < text.size() && text[end] == '.') end = digits(end + 1);
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const std::size_t sign = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+') ? 1 : 0;
    if (const std::size_t exponent = digits(end + 1 + sign); exponent > end + 1 + sign) end = exponent;
  }
  return end;
}

}  // namespace

Lexer::Lexer(std::string_view text, std::string_view file) : text_(text), file_(file), current_(scan(0)) {}

Token Lexer::scan(std::size_t at) const {
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == '#' || text_.substr(at).starts_with("//"))
      at = std::min(text_.find('\n', at), text_.size());
    else if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
      ++at;
    else
      break;
  }
  if (at == text_.size()) return {TokenKind::end, {}, at};
  const std::string_view rest = text_.substr(at);
  auto token = [&](TokenKind kind, std::size_t length) { return Token{kind, rest.substr(0, length), at}; };
  if (is_word_start(rest[0]))
    return token(TokenKind::word,
                 static_cast<std::size_t>(std::ranges::find_if_not(rest, is_word) - rest.begin()));
  if (is_digit(rest[0])) return token(TokenKind::number, number_length(rest));
  if (rest[0] == '"') {
    for (std::size_t end = 1; end < rest.size(); ++end) {
      if (rest[end] == '"') return token(TokenKind::string, end + 1);
      if (rest[end] == '\\') ++end;
    }
    fail_at(at, "this quote is not closed");
  }
  return token(TokenKind::mark, rest.starts_with("==") || rest.starts_with(">=") ? 2 : 1);
}

Token Lexer::next() {
  const Token token = current_;
  current_ = scan(token.offset + token.text.size());
  return token;
}

Token Lexer::second() const {
  return scan(current_.offset + current_.text.size());
}

bool Lexer::take(std::string_view mark) {
  if (!current_.is(mark)) return false;
  next();
  return true;
}

Token Lexer::expect(std::string_view mark) {
  if (!current_.is(mark)) fail_expecting(fmt::format("'{}'", mark));
  return next();
}

std::string Lexer::locate(std::size_t offset, std::string_view message) const {
  offset = std::min(offset, text_.size());
  const std::size_t last_break = offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
  const std::size_t begin = last_break == std::string_view::npos ? 0 : last_break + 1;
  const std::size_t end = std::min(text_.find('\n', offset), text_.size());
  const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin), '\n') + 1;
  auto width = [&](std::size_t from, std::size_t to) {
    return (to - from) -
           static_cast<std::size_t>(std::ranges::count_if(text_.substr(from, to - from), is_continuation));
  };
  // Of a very long line only the part around the place is shown, cut between characters.
  std::size_t first = offset - begin > 70 ? offset - 60 : begin, last = std::min(end, offset + 60);
  while (first < offset && is_continuation(text_[first])) ++first;
  while (last < end && is_continuation(text_[last])) ++last;
  const std::string_view before = first > begin ? "..." : "", after = last < end ? "..." : "";
  std::string shown(text_.substr(first, last - first));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return fmt::format("{}:{}:{}: {}\n  {}{}{}\n  {}^", file_.empty() ? "graph" : file_, line,
                     width(begin, offset) + 1, message, before, shown, after,
                     std::string(before.size() + width(first, offset), ' '));
}

void Lexer::fail_at(std::size_t offset, std::string_view message) const {
  throw ValueError(locate(offset, message));
}

void Lexer::fail_expecting(std::string_view what) const {
  if (current_.kind == TokenKind::end)
    fail_at(current_.offset, fmt::format("expected {}, found the end of the text", what));
  const std::string_view found = current_.text.substr(0, 40);
  fail_at(current_.offset,
          fmt::format("expected {}, found '{}{}'", what, found, found == current_.text ? "" : "..."));
}

std::string unquote(const Lexer& lexer, const Token& string) {
  const std::string_view inner = string.text.substr(1, string.text.size() - 2);
  std::string result;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') {
      result += inner[i];
      continue;
    }
    const char escape = inner[++i];  // the scan saw to it that one follows
    auto hex = [&](std::size_t at) {
      return at < inner.size() ? std::string_view("0123456789abcdef").find(inner[at])
                               : std::string_view::npos;
    };
    if (escape == 'x' && hex(i + 1) != std::string_view::npos && hex(i + 2) != std::string_view::npos) {
      result += static_cast<char>(hex(i + 1) * 16 + hex(i + 2));
      i += 2;
    } else if (escape == 'n' || escape == 'r' || escape == 't') {
      result += escape == 'n' ? '\n' : escape == 'r' ? '\r' : '\t';
    } else if (escape == '"' || escape == '\\') {
      result += escape;
    } else {
      lexer.fail_at(string.offset + i, R"(unknown escape; there are \n, \r, \t, \xNN, \" and \\)");
    }
  }
  return result;
}

}  // namespace sinter::ir
