#include "tests/support/places.h"

#include <filesystem>

namespace sinter::testing {

namespace fs = std::filesystem;

const std::string& gathered_folder() {
  static const std::string folder = [] {
    std::error_code error;
    const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path();
    return fs::is_directory(beside / "source", error) ? beside.string() : std::string();
  }();
  return folder;
}

std::string source_file(std::string_view path) {
  const std::string root = gathered_folder().empty() ? SINTER_SOURCE_DIR : gathered_folder() + "/source";
  return root + "/" + std::string(path);
}

std::string built_file(std::string_view built) {
  if (gathered_folder().empty()) return std::string(built);
  return gathered_folder() + "/" + fs::path(built).filename().string();
}

}  // namespace sinter::testing
