// Standard output.
#pragma once

#include <string_view>

namespace tool {

/// Writes `text` to standard output. Throws sinter::ValueError when that does not take it.
void print(std::string_view text);

}  // namespace tool
