#include "runtime/cuda/find_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace sinter::runtime {
namespace {

namespace fs = std::filesystem;

std::string path_of(void* handle, const std::string& fallback) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && *map->l_name != '\0')
    return map->l_name;
  return fallback;
}

/// Below the root of a CUDA toolkit, or the directory itself.
std::vector<std::string> library_directories(const std::string& root) {
  std::vector<std::string> found;
  std::vector<fs::path> real;  // lib64 is often a link to lib
  for (const char* below : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", ""}) {
    const fs::path directory = *below == '\0' ? fs::path(root) : fs::path(root) / below;
    std::error_code error;
    const fs::path canonical = fs::canonical(directory, error);
    if (error || !fs::is_directory(canonical, error) || std::ranges::find(real, canonical) != real.end())
      continue;
    real.push_back(canonical);
    found.push_back(directory.string());
  }
  return found;
}

class Search {
 public:
  Search(const LibrarySearch& search, const Refusal& refusal) : search_(search), refusal_(refusal) {}

  FoundLibrary run() {
    if (search_.setting.empty())
      found_.reason = search_.variable + " is off";
    else if (search_.setting == "auto")
      try_usual_places();
    else
      try_chosen(search_.setting);
    return found_;
  }

 private:
  bool try_file(const std::string& file) {
    void* const handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
      // The linker's own words, except where it only says that there is no such file.
      const char* const error = dlerror();
      std::error_code ignored;
      if (error != nullptr && file.find('/') != file.npos && fs::exists(file, ignored))
        faults_.push_back(error);
      return false;
    }
    const std::string path = path_of(handle, file);
    if (const std::string fault = refusal_(handle, path); !fault.empty()) {
      faults_.push_back(fmt::format("{}: {}", path, fault));
      return false;
    }
    found_ = {handle, path, ""};
    return true;
  }

  bool try_directory(const std::string& directory) {
    return std::ranges::any_of(search_.names,
                               [&](const std::string& name) { return try_file(directory + "/" + name); });
  }

  std::string reason(const std::string& searched) const {
    std::string text = fmt::format("{} was not found: searched {}", search_.subject, searched);
    if (!faults_.empty()) text += fmt::format(" ({})", fmt::join(faults_, "; "));
    return text + fmt::format("; set {} to the library or to its directory", search_.variable);
  }

  void try_chosen(const std::string& place) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
      if (!try_file(place)) found_.reason = reason(fmt::format("{}={}", search_.variable, place));
      return;
    }
    for (const std::string& directory : library_directories(place))
      if (try_directory(directory)) return;
    found_.reason = reason(fmt::format("{}={} for {}", search_.variable, place, names()));
  }

  void try_usual_places() {
    for (const std::string& name : search_.names)
      if (try_file(name)) return;
    std::vector<std::string> places{"the dynamic linker's directories (LD_LIBRARY_PATH)"};
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      const char* const root = std::getenv(variable);
      if (root == nullptr || *root == '\0') continue;
      places.push_back(fmt::format("{}={}", variable, root));
      for (const std::string& directory : library_directories(root))
        if (try_directory(directory)) return;
    }
    const std::string root = "/usr/local/cuda";
    places.push_back(root);
    for (const std::string& directory : library_directories(root))
      if (try_directory(directory)) return;
    found_.reason = reason(fmt::format("{} for {}", fmt::join(places, ", "), names()));
  }

  std::string names() const { return fmt::format("{}", fmt::join(search_.names, ", ")); }

  const LibrarySearch& search_;
  const Refusal& refusal_;
  std::vector<std::string> faults_;
  FoundLibrary found_;
};

}  // namespace

FoundLibrary find_library(const LibrarySearch& search, const Refusal& refusal) {
  return Search(search, refusal).run();
}

}  // namespace sinter::runtime
