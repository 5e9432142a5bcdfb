#include "ir/base/dump.h"

#include <filesystem>

#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using sinter::testing::CapturedLog;
using sinter::testing::ScopedEnvironment;
using sinter::testing::TemporaryDirectory;

TEST_CASE("nothing is dumped unless a directory is named") {
  const ScopedEnvironment environment{{"SINTER_DUMP", {}}};
  CHECK_FALSE(dump_enabled());
  write_dump("x", ".txt", "text");
}

TEST_CASE("file names from users' names stay in the directory and are of bounded length") {
  CHECK(safe_file_name("gelu-2_b") == "gelu-2_b");
  CHECK(safe_file_name("../../x") == "______x");
  CHECK(safe_file_name("") == "_");
  CHECK(safe_file_name("a\nb\\c\xc3\xa4") == "a_b_c__");
  CHECK(safe_file_name(std::string(70'000, 'n')).size() == 100);
}

TEST_CASE("dumps are written whole, into a directory that is made for them") {
  const TemporaryDirectory directory;
  const ScopedEnvironment environment{{"SINTER_DUMP", directory / "a/b"}};
  write_dump("../../x", ".txt", std::string("two\nlines\0", 10));
  CHECK(testing::read_text(directory / "a/b/______x.txt") == std::string("two\nlines\0", 10));
  CHECK(directory.names() == std::vector<std::string>{"a"});
}

TEST_CASE("a dump directory that cannot be written to warns once") {
  const TemporaryDirectory directory;
  const ScopedEnvironment environment{{"SINTER_DUMP", directory.write("file", "") + "/below"}};
  const CapturedLog log;
  write_dump("x", ".txt", "text");
  write_dump("y", ".txt", "text");
  CHECK(log.count("cannot write to SINTER_DUMP") == 1);
}

TEST_CASE("what is dumped together has a start of its own, and nothing where nothing is dumped") {
  CHECK(new_dump_prefix("x").empty());
  const TemporaryDirectory directory;
  const ScopedEnvironment environment{{"SINTER_DUMP", directory.path()}};
  const std::string one = new_dump_prefix("../x");
  CHECK(one.ends_with("____x"));
  CHECK(one != new_dump_prefix("../x"));
}
