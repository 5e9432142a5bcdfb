// The environment variables SINTER_*: one table (settings.def), read at first use into one struct.
//
// A value that does not parse is warned of once and the default holds; so is a variable SINTER_* that no row
// names, with the closest name there is. Reading a setting therefore never throws and costs one atomic load.
// Another device than the one asked for would not do, so the name of none is warned of and kept, and whoever
// looks for the device refuses it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/settings.h"  // the table as text

namespace sinter {

enum class SettingType : std::uint8_t { Flag, Count, Bytes, Text, Choice, Device, List };

namespace detail {
template <SettingType T>
struct SettingValue;
template <>
struct SettingValue<SettingType::Flag> {
  using type = bool;
};
template <>
struct SettingValue<SettingType::Count> {
  using type = std::int64_t;
};
template <>
struct SettingValue<SettingType::Bytes> {
  using type = std::int64_t;
};
template <>
struct SettingValue<SettingType::Text> {
  using type = std::string;
};
template <>
struct SettingValue<SettingType::Choice> {
  using type = std::string;
};
template <>
struct SettingValue<SettingType::Device> {
  using type = std::string;
};
template <>
struct SettingValue<SettingType::List> {
  using type = std::vector<std::string>;
};
}  // namespace detail

/// The value of every setting, one member a row of settings.def.
struct Settings {
#define SETTING(member, name, kind, default_text, values, doc) \
  detail::SettingValue<SettingType::kind>::type member{};
#include "ir/base/settings.def"
#undef SETTING
};

/// The settings as the environment stood at the first call, or at the last reread_settings().
/// The reference stays valid, and its values unchanged, until the process ends.
const Settings& settings();

/// Reads the environment again; for tests, which change it while they run.
void reread_settings();

/// One row of the table, and the value that the environment gives it now.
struct SettingInfo {
  std::string name;  // with its prefix
  SettingType type;
  std::string_view default_text;
  std::string_view values;  // the admitted ones, separated by '|', or empty
  std::string_view doc;
  std::string value;  // what the environment holds, or the default where that is nothing or wrong
  bool is_set;        // the environment holds it
};

std::vector<SettingInfo> list_settings();

}  // namespace sinter
