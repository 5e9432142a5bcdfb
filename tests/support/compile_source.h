// Source text through a compiler, for tests that look at what it makes of generated code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter::testing {

struct CompiledSource {
  bool ok = false;
  std::string messages;  // the command if it failed, and all that the compiler said
  std::string output;    // the file that it wrote
};

/// Writes `source` to a file of this name and runs `compiler` (a program with its options) on it.
CompiledSource compile_source(std::vector<std::string> compiler, const std::string& source,
                              const std::string& file);

/// The text with every occurrence replaced.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

}  // namespace sinter::testing
