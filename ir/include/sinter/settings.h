// The environment variables that sinter reads, as text.
#pragma once

#include <string>

namespace sinter {

/// Reads them, unless something already did, and warns on standard error of those that do not exist and of
/// values that they do not have. Whatever needs a setting does so by itself, but only then.
void warn_of_wrong_settings();

/// All of them with the values in force.
std::string settings_report();

/// All of them as a Markdown table: names, types, defaults, meaning. docs/settings.md is made of it.
std::string settings_markdown();

}  // namespace sinter
