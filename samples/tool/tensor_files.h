// Tensors as files.
#pragma once

#include <sinter/sinter.h>

#include <string>
#include <vector>

namespace tool {

/// Writes NAME.npy for each tensor into the directory, which is made if it is not there: all of them or, when
/// one fails, none. Characters that could leave the directory or hide are replaced, and no two files are the
/// same. Returns the paths. Throws sinter::ValueError.
std::vector<std::string> write_tensors(const std::string& directory, const std::vector<std::string>& names,
                                       const std::vector<sinter::Tensor>& tensors);

}  // namespace tool
