// Files that say what sinter did, under the directory that SINTER_DUMP names.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

/// Whether SINTER_DUMP names a directory; ask before building a text that is dear to build.
bool dump_enabled();

/// A start of file names that no call in this process returned before, so that what belongs together can
/// share it; "0012_gelu" for the name gelu. Empty where nothing is dumped.
std::string new_dump_prefix(std::string_view name);

/// `text` as a part of a file name: anything but ASCII letters, digits, '_' and '-' is replaced, and length
/// is bounded.
std::string safe_file_name(std::string_view text);

/// Writes a file, its name made safe except for the extension (".txt"), into the dump directory, which is
/// made if it is missing. A graph may be called "../../x": the file stays in the directory. Failing to write
/// warns once.
void write_dump(std::string_view name, std::string_view extension, std::string_view text);

}  // namespace sinter
