#include "ir/base/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include "ir/base/log.h"

namespace sinter {
namespace {

constexpr std::string_view prefix = "SINTER_";

struct Row {
  std::string_view name;
  SettingType type;
  std::string_view default_text, values, doc;
};

constexpr std::array rows{
#define SETTING(member, name, kind, default_text, values, doc) \
  Row{name, SettingType::kind, default_text, values, doc},
#include "ir/base/settings.def"
#undef SETTING
};

std::string_view type_name(SettingType type) {
  switch (type) {
    case SettingType::Flag:
      return "flag";
    case SettingType::Count:
      return "count";
    case SettingType::Bytes:
      return "bytes";
    case SettingType::Text:
      return "text";
    case SettingType::Choice:
      return "choice";
    case SettingType::Device:
      return "device";
    case SettingType::List:
      break;
  }
  return "list";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (const std::string_view part = trimmed(text.substr(0, end)); !part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Whether the value is this one, or is of its form: "cuda:N" is that of "cuda:" and a number.
bool matches(std::string_view value, std::string_view form) {
  if (!form.ends_with(":N")) return value == form;
  form.remove_suffix(1);
  return value.size() > form.size() && value.starts_with(form) &&
         value.find_first_not_of("0123456789", form.size()) == std::string_view::npos;
}

bool admits(const Row& row, std::string_view value) {
  const auto values = split(row.values, '|');
  return values.empty() || std::any_of(values.begin(), values.end(),
                                       [&](const std::string& form) { return matches(value, form); });
}

/// A whole number >= 0, with a suffix K, M or G (powers of 1024) where `suffixes` are admitted.
std::optional<std::int64_t> parse_number(std::string_view text, bool suffixes) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix.empty()) return number;
  constexpr std::string_view units = "KMG";
  const std::size_t unit =
      units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(suffix.front()))));
  if (!suffixes || suffix.size() != 1 || unit == std::string_view::npos) return std::nullopt;
  const int shift = 10 * static_cast<int>(unit + 1);
  if (number > std::numeric_limits<std::int64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

bool is_off(std::string_view text) {
  return text == "0" || text == "off";
}

// One overload for each C++ type a setting can have; each returns nothing for a text that does not parse.

std::optional<bool> parse(const Row&, std::string_view text, bool*) {
  constexpr std::array<std::string_view, 4> on{"1", "on", "true", "yes"}, off{"0", "off", "false", "no"};
  if (std::find(on.begin(), on.end(), text) != on.end()) return true;
  if (std::find(off.begin(), off.end(), text) != off.end()) return false;
  return std::nullopt;
}

std::optional<std::int64_t> parse(const Row& row, std::string_view text, std::int64_t*) {
  if (is_off(text)) return 0;
  return parse_number(text, row.type == SettingType::Bytes);
}

std::optional<std::string> parse(const Row& row, std::string_view text, std::string*) {
  if (row.type == SettingType::Text) return std::string(is_off(text) ? "" : text);
  if (row.type == SettingType::Device) return std::string(text);
  return admits(row, text) ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<std::vector<std::string>> parse(const Row& row, std::string_view text,
                                              std::vector<std::string>*) {
  if (is_off(text)) return std::vector<std::string>{};
  auto parts = split(text, ',');
  for (const std::string& part : parts)
    if (!admits(row, part)) return std::nullopt;
  return parts;
}

std::string expected(const Row& row) {
  switch (row.type) {
    case SettingType::Flag:
      return "0 or 1";
    case SettingType::Count:
      return "a whole number from 0 on";
    case SettingType::Bytes:
      return "a number of bytes such as 4096, 512M or 2G";
    case SettingType::Choice:
    case SettingType::Device:
      return fmt::format("one of {}", row.values);
    case SettingType::List:
      return fmt::format("a list of names out of {}, separated by commas", row.values);
    case SettingType::Text:
      break;
  }
  return "a text";
}

const char* environment(const Row& row) {
  const char* value = std::getenv(fmt::format("{}{}", prefix, row.name).c_str());
  return value != nullptr && *value != '\0' ? value : nullptr;  // empty is the same as unset
}

/// The value that the environment gives; nothing where it gives none, or one that does not parse.
template <class T>
std::optional<T> value_from_environment(const Row& row) {
  const char* text = environment(row);
  if (text == nullptr) return std::nullopt;
  return parse(row, row.type == SettingType::Text ? text : trimmed(text), static_cast<T*>(nullptr));
}

std::string consequence(const Row& row) {
  if (row.type == SettingType::Device) return "programs that choose no device are refused";
  return fmt::format("the default, {}, holds", row.default_text.empty() ? "none" : row.default_text);
}

template <class T>
void read(const Row& row, T& member) {
  const auto value = value_from_environment<T>(row);
  member = value ? *value : *parse(row, row.default_text, &member);
  const char* text = environment(row);
  if (text == nullptr || (value && (row.type != SettingType::Device || admits(row, trimmed(text))))) return;
  warn_once(fmt::format("setting {}={}", row.name, text), "{}{}={} is not {}; {}", prefix, row.name, text,
            expected(row), consequence(row));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

void warn_of_unknown_names() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view name(*entry);
    if (!name.starts_with(prefix)) continue;
    name = name.substr(0, name.find('=')).substr(prefix.size());
    const auto is_named = [&](const Row& row) { return row.name == name; };
    if (std::any_of(rows.begin(), rows.end(), is_named)) continue;
    const auto closest = std::min_element(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return edit_distance(a.name, name) < edit_distance(b.name, name);
    });
    warn_once(fmt::format("unknown setting {}", name),
              "{0}{1} is set, but sinter has no such setting; the closest is {0}{2}", prefix, name,
              closest->name);
  }
}

std::unique_ptr<const Settings> read_environment() {
  auto values = std::make_unique<Settings>();
  std::size_t row = 0;
#define SETTING(member, name, kind, default_text, values_text, doc) read(rows[row++], values->member);
#include "ir/base/settings.def"
#undef SETTING
  warn_of_unknown_names();
  return values;
}

/// What has been read so far. Former states are kept, since other threads may still hold references to them.
struct State {
  std::atomic<const Settings*> current{nullptr};
  std::mutex mutex;
  std::vector<std::unique_ptr<const Settings>> all;
};

State& state() {
  static State& instance = *new State;  // outlives every static object that reads a setting as it dies
  return instance;
}

}  // namespace

const Settings& settings() {
  if (const Settings* current = state().current.load(std::memory_order_acquire)) return *current;
  const std::lock_guard lock(state().mutex);
  if (state().all.empty()) {
    state().all.push_back(read_environment());
    state().current.store(state().all.back().get(), std::memory_order_release);
  }
  return *state().all.back();
}

void reread_settings() {
  auto values = read_environment();
  const std::lock_guard lock(state().mutex);
  state().all.push_back(std::move(values));
  state().current.store(state().all.back().get(), std::memory_order_release);
}

std::vector<SettingInfo> list_settings() {
  std::vector<SettingInfo> list;
  const auto add = [&](const Row& row, bool is_set) {
    list.push_back({fmt::format("{}{}", prefix, row.name), row.type, row.default_text, row.values, row.doc,
                    std::string(is_set ? environment(row) : row.default_text), is_set});
  };
#define SETTING(member, name, kind, default_text, values, doc) \
  add(rows[list.size()],                                       \
      value_from_environment<detail::SettingValue<SettingType::kind>::type>(rows[list.size()]).has_value());
#include "ir/base/settings.def"
#undef SETTING
  return list;
}

void warn_of_wrong_settings() {
  settings();
}

std::string settings_markdown() {
  std::string out = "| variable | type | default | meaning |\n|---|---|---|---|\n";
  for (const SettingInfo& info : list_settings()) {
    std::string doc(info.doc);
    if (!info.values.empty()) doc += fmt::format(": {}", fmt::join(split(info.values, '|'), ", "));
    const std::string shown = info.default_text.empty() ? "none" : fmt::format("`{}`", info.default_text);
    out += fmt::format("| `{}` | {} | {} | {} |\n", info.name, type_name(info.type), shown, doc);
  }
  return out;
}

std::string settings_report() {
  warn_of_wrong_settings();
  const auto list = list_settings();
  std::size_t width = 0;
  for (const SettingInfo& info : list) width = std::max(width, info.name.size() + 1 + info.value.size());
  std::string out;
  for (const SettingInfo& info : list)
    out += fmt::format("{:<{}}  {} {}\n", fmt::format("{}={}", info.name, info.value), width,
                       info.is_set ? "*" : " ", info.doc);
  return out + "(* set in the environment; the others have their defaults)\n";
}

}  // namespace sinter
