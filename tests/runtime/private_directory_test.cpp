#include "runtime/private_directory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using sinter::testing::ScopedEnvironment;
using sinter::testing::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

/// Makes a directory in a process that is then killed, and gives its path.
std::string left_behind(const TemporaryDirectory& temporary) {
  const std::vector<std::string> before = temporary.names();
  const pid_t child = ::fork();
  if (child == 0) {
    const PrivateDirectory directory;
    write_new_file(directory.path() + "/kernel.cpp", "int x;");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  for (const std::string& name : temporary.names())
    if (std::ranges::find(before, name) == before.end()) return temporary / name;
  return "";
}

}  // namespace

TEST_CASE("a private directory goes with its object, unless it is kept") {
  const TemporaryDirectory temporary;
  const ScopedEnvironment environment{{"TMPDIR", temporary.path()}};
  std::string path;
  {
    const PrivateDirectory directory;
    path = directory.path();
    CHECK(fs::status(path).permissions() == fs::perms::owner_all);
  }
  CHECK_FALSE(fs::exists(path));
  {
    PrivateDirectory directory;
    path = directory.path();
    directory.keep();
  }
  CHECK(fs::is_empty(path));
  remove_abandoned_directories();
  CHECK(fs::exists(path));
}

TEST_CASE("the directory of a process that was ended is removed by the next one, and nothing else is") {
  const TemporaryDirectory temporary;
  const ScopedEnvironment environment{{"TMPDIR", temporary.path()}};
  const PrivateDirectory own;
  const std::string abandoned = left_behind(temporary);
  REQUIRE(fs::exists(abandoned + "/kernel.cpp"));
  fs::create_directory(temporary / "sinter-backup");
  fs::create_directory(temporary / "other");
  write_new_file(temporary / "other/in-use", "");
  fs::create_directory_symlink(temporary / "other", temporary / "sinter-link");
  remove_abandoned_directories();
  CHECK_FALSE(fs::exists(abandoned));
  CHECK(fs::exists(own.path()));
  CHECK(fs::exists(temporary / "sinter-backup"));
  CHECK(fs::exists(temporary / "other/in-use"));
  CHECK(fs::exists(temporary / "sinter-link"));
}
