// The environment variables that sinter reads, as text.
#pragma once

#include <string>

namespace sinter {

/// All of them with the values in force.
std::string settings_report();

/// All of them as a Markdown table: names, types, defaults, meaning. docs/settings.md is made of it.
std::string settings_markdown();

}  // namespace sinter
