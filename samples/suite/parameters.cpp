#include "samples/suite/parameters.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace suite {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

bool is_symbol(const std::string& text) {
  const auto is_part = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), is_part);
}

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& wanted) {
  throw sinter::ValueError("--set " + name + "=" + value + ": " + name + " is " + wanted);
}

/// Throws unless the text is a value for the parameter.
void check(const std::string& name, const std::string& value) {
  if (name == "dtype") {
    const auto dtype = sinter::dtype_from_name(value);
    if (!dtype || !is_float(*dtype)) refuse(name, value, "one of f32, bf16, f16, f64");
    return;
  }
  const auto number = whole_number(value);
  if (name == "layers") {
    if (!number || *number < 1) refuse(name, value, "a whole number, 1 or more");
    return;
  }
  if (number ? *number < 0 : !is_symbol(value))
    refuse(name, value, "a length: a whole number, 0 or more, or a symbol such as M");
}

}  // namespace

Parameters::Parameters(const std::vector<Parameter>& defaults, const Choices& choices) {
  for (const Parameter& parameter : defaults) {
    const auto chosen = choices.find(parameter.name);
    const std::string& value = chosen == choices.end() ? parameter.value : chosen->second;
    check(parameter.name, value);
    values_.emplace(parameter.name, value);
  }
}

sinter::Length Parameters::length(const std::string& name) const {
  const std::string& text = values_.at(name);
  if (const auto number = whole_number(text)) return *number;
  return text;
}

std::int64_t Parameters::count(const std::string& name) const {
  const std::string& text = values_.at(name);
  const auto number = whole_number(text);
  if (!number) refuse(name, text, "a number for this workload");
  return *number;
}

sinter::DType Parameters::dtype() const {
  return *sinter::dtype_from_name(values_.at("dtype"));
}

}  // namespace suite
