// What the tool writes: whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tool {

/// Writes `text` to standard output. Throws sinter::ValueError when that does not take it.
void print(std::string_view text);

/// Replaces the file by one with this text, or leaves it as it was and throws sinter::ValueError.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace tool
