// Files that users ask for: complete or not there.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

/// Writes `bytes` to a new file beside `path` and renames it into place, so that `path` is replaced whole or,
/// when anything fails, stays what it was. A link stays, and what it leads to is replaced; what is no file,
/// as a pipe or /dev/null, is written to. Throws ValueError, with `what` ("the tensor"), the path and the
/// system's reason.
void write_file(const std::string& path, std::string_view bytes, std::string_view what);

}  // namespace sinter
