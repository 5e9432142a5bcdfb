#include "runtime/compile_error.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sinter::runtime {
namespace {

/// Takes the first line off `text`.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The number in "path:12:5: error: ..." or in "path(12): error: ...", or zero.
int line_number(std::string_view message, std::string_view path) {
  if (!message.starts_with(path) || message.size() == path.size()) return 0;
  message.remove_prefix(path.size());
  if (message.front() != ':' && message.front() != '(') return 0;
  message.remove_prefix(1);
  int number = 0;
  std::from_chars(message.data(), message.data() + message.size(), number);
  return number;
}

std::string_view nth_line(std::string_view text, int number) {
  for (int i = 1; i < number; ++i) next_line(text);
  return next_line(text);
}

}  // namespace

std::string file_stem(const std::string& kernel) {
  std::string stem;
  for (const char c : kernel.substr(0, 64)) stem += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return stem.empty() ? "kernel" : stem;
}

FirstError find_first_error(std::string_view output, std::string_view path, std::string_view source) {
  std::string_view first;
  while (!output.empty()) {
    const std::string_view line = next_line(output);
    if (line.empty()) continue;
    if (first.empty()) first = line;
    const auto has = [&](std::string_view mark) { return line.find(mark) != std::string_view::npos; };
    if (!has("error: ") && !has("undefined reference") && !has("ptxas error") && !has("ptxas fatal"))
      continue;
    const int number = line_number(line, path);
    return {std::string(line), number, std::string(number > 0 ? nth_line(source, number) : "")};
  }
  return {std::string(first.empty() ? "the compiler said nothing" : first), 0, ""};
}

}  // namespace sinter::runtime
