// Checks of numbers on the command line, whose messages say what is wanted.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace tool {

/// For options that take a number greater than 0.
inline CLI::Validator above_zero() {
  const auto check = [](std::string& text) -> std::string {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const bool is_right = error == std::errc() && rest == end && std::isfinite(number) && number > 0;
    return is_right ? "" : "it takes a number above 0, and not \"" + text + "\"";
  };
  return {check, "NUMBER"};
}

/// For options that take a whole number, 0 or more.
inline CLI::Validator whole() {
  const auto check = [](std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const bool is_right = error == std::errc() && rest == end;
    return is_right ? "" : "it takes a whole number, 0 or more, and not \"" + text + "\"";
  };
  return {check, "NUMBER"};
}

}  // namespace tool
