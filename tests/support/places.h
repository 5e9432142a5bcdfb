// Where the tests find what they need: in the source and build trees, or beside themselves where they were
// gathered into one folder for another machine (the target `gather`).
#pragma once

#include <string>
#include <string_view>

namespace sinter::testing {

/// The folder that the running executable was gathered into; empty if it was not.
const std::string& gathered_folder();

/// A file of the source tree, by its path from the root. A gathered folder has those in docs/ and the lists
/// that tests read.
std::string source_file(std::string_view path);

/// `built`, or the file of that name in the gathered folder.
std::string built_file(std::string_view built);

}  // namespace sinter::testing
