#include "samples/tool/tensor_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <system_error>

namespace tool {

namespace fs = std::filesystem;
using sinter::Tensor;
using sinter::ValueError;

namespace {

/// Names of the outputs as names of files: what could leave the directory or hide is replaced, and no two are
/// the same.
std::vector<std::string> file_names(const std::vector<std::string>& outputs) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (std::string name : outputs) {
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
    constexpr std::size_t longest = 200;  // file systems take names of 255 bytes
    name.resize(std::min(name.size(), longest));
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
    names.push_back(unique + ".npy");
  }
  return names;
}

/// Writes all files or, when one of them fails, none: into a directory beside their places, from where they
/// are moved.
void write_all(const fs::path& directory, const std::vector<std::string>& names,
               const std::vector<Tensor>& tensors) {
  const auto check = [&](const fs::path& path, const std::error_code& error) {
    if (error) throw ValueError(fmt::format("--output-dir: {}: {}", path.string(), error.message()));
  };
  std::error_code error;
  fs::create_directories(directory, error);
  check(directory, error);
  for (const std::string& name : names)
    if (fs::is_directory(directory / name))
      check(directory / name, std::make_error_code(std::errc::is_a_directory));
  const fs::path staging = directory / fmt::format(".sinter-{}", ::getpid());
  fs::create_directory(staging, error);
  check(staging, error);
  try {
    for (std::size_t i = 0; i < names.size(); ++i) sinter::save_npy(tensors[i], staging / names[i]);
    for (const std::string& name : names) {
      fs::rename(staging / name, directory / name, error);
      check(directory / name, error);
    }
  } catch (...) {
    fs::remove_all(staging, error);
    throw;
  }
  fs::remove(staging, error);
}

}  // namespace

std::vector<std::string> write_tensors(const std::string& directory, const std::vector<std::string>& names,
                                       const std::vector<Tensor>& tensors) {
  std::vector<std::string> files = file_names(names);
  write_all(directory, files, tensors);
  for (std::string& file : files) file = fs::path(directory) / file;
  return files;
}

}  // namespace tool
