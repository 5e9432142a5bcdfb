// Splits the text form of a graph into tokens, and raises errors that show the place.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace sinter::ir {

enum class TokenKind : unsigned char { word, number, string, mark, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // as written; a string with its quotes
  std::size_t offset = 0;
  bool is(std::string_view mark) const { return kind != TokenKind::string && text == mark; }
};

/// Words are letters, digits, '_' and '.'; numbers are unsigned, decimal or 0x; marks are single characters,
/// "==" and
/// ">=". Blanks and comments (from '#' or "//" to the end of the line) separate.
class Lexer {
 public:
  explicit Lexer(std::string_view text, std::string_view file = {});

  const Token& peek() const { return current_; }
  Token next();
  /// The token after the one peek() shows.
  Token second() const;
  /// Takes the mark or word if it is next.
  bool take(std::string_view mark);
  /// Takes the mark or word, or fails saying that it was expected.
  Token expect(std::string_view mark);

  std::string_view text() const { return text_; }

  /// Throws ValueError with file, line, column, the line itself and a caret under `offset`.
  [[noreturn]] void fail_at(std::size_t offset, std::string_view message) const;
  /// Fails at the next token: "expected WHAT, found TOKEN".
  [[noreturn]] void fail_expecting(std::string_view what) const;
  /// The message with its place, as fail_at throws it.
  std::string locate(std::size_t offset, std::string_view message) const;

 private:
  Token scan(std::size_t at) const;

  std::string_view text_, file_;
  Token current_;
};

/// The contents of a quoted string token; fails on an unknown escape.
std::string unquote(const Lexer& lexer, const Token& string);

}  // namespace sinter::ir
