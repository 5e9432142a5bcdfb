// The rules on the source tree itself: which folder may include which, how long a file may be, and what the
// top level holds.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/subprocess.h"
#include "tests/catch.h"

namespace {

namespace fs = std::filesystem;
namespace runtime = sinter::runtime;

const fs::path root = SINTER_SOURCE_DIR;

/// The layers, lowest first: each may include itself and those before it.
const std::vector<std::string> layers{"ir", "passes", "codegen", "runtime", "frontend"};

/// The position of the layer of that name, or nothing if the folder is not a layer.
std::optional<std::size_t> rank_of(const std::string& folder) {
  const auto found = std::find(layers.begin(), layers.end(), folder);
  if (found == layers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - layers.begin());
}

struct SourceFile {
  std::string path;    // from the root
  std::string folder;  // its first part
  std::vector<std::string> lines;
};

bool is_text_of_ours(const fs::path& path) {
  static const std::set<std::string> extensions{".h", ".cpp", ".def", ".cmake", ".sh", ".py", ".md", ".in"};
  return extensions.count(path.extension().string()) > 0 || path.filename() == "CMakeLists.txt";
}

std::vector<SourceFile> read_folders(const std::vector<std::string>& folders) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !is_text_of_ours(entry.path())) continue;
      SourceFile file{fs::relative(entry.path(), root).string(), folder, {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  return files;
}

struct Include {
  bool quoted;
  std::string path;
};

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex directive("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
  std::vector<Include> result;
  std::smatch match;
  for (const std::string& line : file.lines)
    if (std::regex_search(line, match, directive)) result.push_back({match[1] == "\"", match[2]});
  return result;
}

/// The folder that an include leads to: by its first part, or for a public header by where that header is.
std::string folder_of(const std::string& include) {
  const std::string first = *fs::path(include).begin();
  if (first != "sinter") return first;
  for (const std::string& layer : layers)
    if (fs::exists(root / layer / "include" / include)) return layer;
  return "ir";  // the public copy of the op table
}

}  // namespace

TEST_CASE("a layer includes only itself and the layers below it") {
  for (const SourceFile& file : read_folders(layers)) {
    const std::size_t own = *rank_of(file.folder);
    for (const Include& include : includes_of(file)) {
      const std::string folder = folder_of(include.path);
      const auto rank = rank_of(folder);
      INFO(file.path << " includes " << include.path);
      CHECK((!rank || *rank <= own));
      CHECK(folder != "samples");
      CHECK(folder != "tests");
    }
  }
}

TEST_CASE("a public header includes only public headers and the standard library") {
  std::vector<std::string> folders;
  for (const std::string& layer : layers)
    if (fs::exists(root / layer / "include")) folders.push_back(layer + "/include");
  for (const SourceFile& file : read_folders(folders)) {
    for (const Include& include : includes_of(file)) {
      INFO(file.path << " includes " << include.path);
      const bool is_public = include.path.starts_with("sinter/");
      const bool is_standard = !include.quoted && include.path.find_first_of("/.") == std::string::npos;
      CHECK((is_public || is_standard));
    }
  }
}

TEST_CASE("the samples include only public headers") {
  for (const SourceFile& file : read_folders({"samples"})) {
    for (const Include& include : includes_of(file)) {
      INFO(file.path << " includes " << include.path);
      CHECK_FALSE(rank_of(*fs::path(include.path).begin()));
    }
  }
}

TEST_CASE("no file has more than 600 lines") {
  for (const SourceFile& file :
       read_folders({"ir", "passes", "codegen", "runtime", "frontend", "samples", "tests", "cmake"})) {
    INFO(file.path);
    CHECK(file.lines.size() <= 600);
  }
}

/// What lies at the top level: of a checkout what git tracks, else all but what is built there.
std::set<std::string> top_level() {
  std::set<std::string> names;
  if (const std::string git = runtime::find_program("git"); !git.empty() && fs::exists(root / ".git")) {
    // It refuses a checkout of another user unless told that this one is meant.
    const runtime::Outcome tracked = runtime::run_program(
        {.arguments = {git, "-c", "safe.directory=*", "-C", root.string(), "ls-files", "-z"},
         .kept_bytes = 16 << 20});
    INFO("git ls-files " << tracked.describe() << ": " << tracked.err);
    REQUIRE(tracked.ok());
    std::istringstream paths(tracked.out);
    for (std::string path; std::getline(paths, path, '\0');) names.insert(*fs::path(path).begin());
    return names;
  }
  const std::regex built_here("build.*|\\.cache|compile_commands\\.json");
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename();
    if (!std::regex_match(name, built_here)) names.insert(name);
  }
  return names;
}

TEST_CASE("the top level holds the folders of the design and nothing else") {
  const std::set<std::string> allowed{
      "ir",   "passes",    "codegen",        "runtime",           "frontend",  "samples",       "tests",
      "docs", "cmake",     "CMakeLists.txt", "CMakePresets.json", "README.md", ".clang-format", ".clang-tidy",
      ".ci",  ".gitignore"};
  for (const std::string& name : top_level()) {
    INFO(name);
    CHECK(allowed.count(name) == 1);
  }
}

TEST_CASE("every folder says what lives in it") {
  for (const char* folder :
       {"ir", "passes", "codegen", "runtime", "frontend", "samples", "tests", "docs", "cmake"}) {
    INFO(folder);
    CHECK(fs::exists(root / folder / "README.md"));
  }
}
