// CUDA's libraries are looked for when they are first needed, since one binary serves machines with and
// without them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sinter::runtime {

struct LibrarySearch {
  std::string subject;             // "NVRTC"
  std::string variable;            // "SINTER_NVRTC"
  std::string setting;             // its value: "auto", a library, a directory with it, or empty for off
  std::vector<std::string> names;  // of the file, the preferred one first
};

struct FoundLibrary {
  void* handle = nullptr;  // never closed; null if there is none
  std::string path;        // of the file that was loaded
  std::string reason;      // why there is none: what was searched, where, and the variable to set
};

/// Why a library that loads is of no use, or an empty text.
using Refusal = std::function<std::string(void* handle, const std::string& path)>;

/// Loads the first of these that is there and not refused: what the setting names, and nothing else; or,
/// where that is "auto", each name as the dynamic linker knows it, then in the directories of $CUDA_HOME,
/// $CUDA_PATH and /usr/local/cuda.
FoundLibrary find_library(const LibrarySearch& search, const Refusal& refusal);

}  // namespace sinter::runtime
