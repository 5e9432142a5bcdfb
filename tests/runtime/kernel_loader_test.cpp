#include "runtime/kernel_loader.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <filesystem>

#include "runtime/host_compiler.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using Catch::Matchers::ContainsSubstring;
using sinter::testing::child_cannot;
using sinter::testing::in_child;
using sinter::testing::ScopedEnvironment;
using sinter::testing::TemporaryDirectory;

namespace {

/// A shared object whose function `answer` returns `number`.
std::string object_returning(int number) {
  DiskCache none({});
  const HostCompiler compiler(none);
  if (!compiler.usable()) SINTER_SKIP("no C++ compiler: " + compiler.reason());
  return compiler.compile("answer", "extern \"C\" int answer() { return " + std::to_string(number) + "; }\n");
}

int call(const LoadedObject& object) {
  return reinterpret_cast<int (*)()>(object.function("answer"))();
}

int open_files() {
  int count = 0;
  for (int i = 0; i < 256; ++i) count += fcntl(i, F_GETFD) >= 0;
  return count;
}

}  // namespace

TEST_CASE("objects of one name loaded at the same time are different objects") {
  const std::string first = object_returning(1), second = object_returning(2);
  const auto a = LoadedObject::load("answer", first), b = LoadedObject::load("answer", second);
  CHECK(call(*a) == 1);
  CHECK(call(*b) == 2);
}

TEST_CASE("loading many objects keeps no files open, and one loaded after another was unloaded is itself") {
  const std::string first = object_returning(1), second = object_returning(2);
  const int before = open_files();
  std::vector<std::shared_ptr<LoadedObject>> kept;
  for (int i = 0; i < 50; ++i) {
    kept.push_back(LoadedObject::load("answer", i % 2 == 0 ? first : second));
    REQUIRE(call(*kept.back()) == 1 + i % 2);
    if (i % 3 == 0) kept.pop_back();
  }
  CHECK(open_files() == before);
}

TEST_CASE("a function that is not in the object is an error that names both") {
  const auto object = LoadedObject::load("my_kernel", object_returning(1));
  CHECK_THROWS_WITH(object->function("other"), "kernel my_kernel: the object has no function other");
}

TEST_CASE("bytes that are no shared object are an error that says what was tried") {
  CHECK_THROWS_WITH(LoadedObject::load("my_kernel", "nonsense"),
                    ContainsSubstring("kernel my_kernel: the compiled object cannot be loaded") &&
                        ContainsSubstring("from memory") && ContainsSubstring("from a file"));
}

TEST_CASE("objects load where temporary directories are mounted noexec") {
  const std::string object = object_returning(7);
  const TemporaryDirectory directory;
  const int code = in_child([&] {
    if (!sinter::testing::mount_tmpfs(directory.path(), "mode=0700", MS_NOEXEC)) return child_cannot;
    const ScopedEnvironment environment{{"TMPDIR", directory.path()}};
    return call(*LoadedObject::load("answer", object)) == 7 ? 0 : 1;
  });
  if (code == child_cannot) SINTER_SKIP("needs the right to mount a tmpfs");
  CHECK(code == 0);
}

TEST_CASE("objects load from a temporary file, which is removed, where /proc is missing") {
  const std::string object = object_returning(7);
  const TemporaryDirectory directory;
  const int code = in_child([&] {
    if (!sinter::testing::mount_tmpfs("/proc", "")) return child_cannot;
    const ScopedEnvironment environment{{"TMPDIR", directory.path()}};
    return call(*LoadedObject::load("answer", object)) == 7 && directory.names().empty() ? 0 : 1;
  });
  if (code == child_cannot) SINTER_SKIP("needs the right to mount a tmpfs");
  CHECK(code == 0);
}

TEST_CASE("where objects load from nowhere the error names the directory and the variable to set") {
  const std::string object = object_returning(7);
  const TemporaryDirectory directory;
  const int code = in_child([&] {
    if (!sinter::testing::mount_tmpfs("/proc", "") ||
        !sinter::testing::mount_tmpfs(directory.path(), "mode=0700", MS_NOEXEC))
      return child_cannot;
    const ScopedEnvironment environment{{"TMPDIR", directory.path()}};
    try {
      LoadedObject::load("answer", object);
    } catch (const sinter::CompileError& error) {
      const std::string text = error.what();
      return text.find("is " + directory.path() + " mounted noexec? Set TMPDIR") != std::string::npos ? 0 : 2;
    }
    return 1;
  });
  if (code == child_cannot) SINTER_SKIP("needs the right to mount a tmpfs");
  CHECK(code == 0);
}
