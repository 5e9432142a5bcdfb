#include "runtime/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <set>
#include <thread>

#include "runtime/cache_entry.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using sinter::testing::CapturedLog;
using sinter::testing::in_child;
using sinter::testing::read_text;
using sinter::testing::ScopedEnvironment;
using sinter::testing::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : ~0u;
}

void set_age(const std::string& path, std::int64_t seconds) {
  const timespec time{std::time(nullptr) - seconds, 0};
  const timespec times[2] = {time, time};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

}  // namespace

TEST_CASE("content is found under its key, and only there") {
  const TemporaryDirectory directory;
  DiskCache cache({directory / "c"});
  CHECK_FALSE(cache.load("key"));
  cache.store("key", std::string("a\0b", 3));
  CHECK(cache.load("key") == std::string("a\0b", 3));
  CHECK_FALSE(cache.load("key2"));
  cache.store("empty", "");
  CHECK(cache.load("empty") == "");
  const DiskCacheCounters counters = cache.counters();
  CHECK(counters.hits == 2);
  CHECK(counters.misses == 2);
  CHECK(counters.written == 2);
  CHECK(counters.rejected == 0);
}

TEST_CASE("entries outlive the process that made them") {
  const TemporaryDirectory directory;
  REQUIRE(in_child([&] {
            DiskCache({directory / "c"}).store("key", "content");
            return 0;
          }) == 0);
  CHECK(DiskCache({directory / "c"}).load("key") == "content");
}

TEST_CASE("SINTER_CACHE_DIR comes before XDG_CACHE_HOME, and that before HOME") {
  const TemporaryDirectory directory;
  const std::string a = directory / "a", b = directory / "b", c = directory / "c";
  {
    const ScopedEnvironment environment{{"SINTER_CACHE_DIR", a}, {"XDG_CACHE_HOME", b}, {"HOME", c}};
    CHECK(disk_cache_options().directory == a);
  }
  {
    const ScopedEnvironment environment{{"SINTER_CACHE_DIR", {}}, {"XDG_CACHE_HOME", b}, {"HOME", c}};
    CHECK(disk_cache_options().directory == b + "/sinter");
  }
  {
    const ScopedEnvironment environment{
        {"SINTER_CACHE_DIR", {}}, {"XDG_CACHE_HOME", "relative"}, {"HOME", c}};
    CHECK(disk_cache_options().directory == c + "/.cache/sinter");
  }
}

TEST_CASE("without a home kernels stay in memory, with one warning") {
  const CapturedLog log;
  const ScopedEnvironment environment{{"SINTER_CACHE_DIR", {}}, {"XDG_CACHE_HOME", {}}, {"HOME", {}}};
  for (int i = 0; i < 2; ++i) {
    DiskCache cache(disk_cache_options());
    CHECK_FALSE(cache.usable());
    cache.store("key", "content");
    CHECK_FALSE(cache.load("key"));
  }
  CHECK(log.lines().size() == 1);
  CHECK(log.count("there is no home directory; set SINTER_CACHE_DIR") == 1);
}

TEST_CASE("SINTER_CACHE=0 keeps kernels in memory without a word") {
  const CapturedLog log;
  const auto name = GENERATE(as<std::string>{}, "SINTER_CACHE", "SINTER_CACHE_DIR", "SINTER_CACHE_SIZE");
  const ScopedEnvironment environment{{name, "0"}};
  const DiskCache cache(disk_cache_options());
  CHECK_FALSE(cache.usable());
  CHECK(cache.info().reason == name + " is off");
  CHECK(log.lines().empty());
}

TEST_CASE("new directories are 0700 and files 0600, whatever the umask") {
  const TemporaryDirectory directory;
  const mode_t mask = GENERATE(as<mode_t>{}, 0, 022, 0777);
  const mode_t before = umask(mask);
  DiskCache cache({directory / "new/deep"});
  cache.store("key", "content");
  umask(before);
  CHECK(mode_of(directory / "new") == 0700);
  CHECK(mode_of(directory / "new/deep") == 0700);
  CHECK(mode_of(directory / "new/deep/" + entry_file_name("key")) == 0600);
  CHECK(cache.load("key") == "content");
}

TEST_CASE("a directory that others can write to is neither used nor repaired, with one warning") {
  const TemporaryDirectory directory;
  const std::string path = directory / "c";
  const mode_t mode = GENERATE(as<mode_t>{}, 0770, 0707, 01777);
  REQUIRE(mkdir(path.c_str(), 0700) == 0);
  REQUIRE(chmod(path.c_str(), mode) == 0);
  const CapturedLog log;
  for (int i = 0; i < 2; ++i) {
    DiskCache cache({path});
    CHECK_FALSE(cache.usable());
    cache.store("key", "content");
  }
  CHECK(mode_of(path) == mode);
  CHECK(fs::is_empty(path));
  CHECK(log.lines().size() == 1);
  CHECK(log.count(fmt::format("{} is not used: others may write to it (mode {:o})", path, mode)) == 1);
}

TEST_CASE("a symbolic link to a directory is not used") {
  const TemporaryDirectory directory;
  const std::string link = directory / "link";
  fs::create_directory(directory / "real");
  fs::permissions(directory / "real", fs::perms::owner_all);
  fs::create_directory_symlink(directory / "real", link);
  const CapturedLog log;
  CHECK_FALSE(DiskCache({link}).usable());
  CHECK_FALSE(DiskCache({link + "/"}).usable());
  CHECK(log.count("it is a symbolic link") == 1);
  CHECK(log.lines().size() == 1);
}

TEST_CASE("a file in the place of the directory is not used") {
  const TemporaryDirectory directory;
  const CapturedLog log;
  CHECK_FALSE(DiskCache({directory.write("c", "")}).usable());
  CHECK_FALSE(DiskCache({directory / "c/d"}).usable());
  CHECK(log.lines().size() == 1);
}

TEST_CASE("a directory of another user is not used") {
  if (geteuid() != 0) SINTER_SKIP("only root can make a directory of another user's");
  const TemporaryDirectory directory;
  const std::string path = directory / "c";
  fs::create_directory(path);
  REQUIRE(chmod(path.c_str(), 0755) == 0);
  REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
  const CapturedLog log;
  CHECK_FALSE(DiskCache({path}).usable());
  CHECK(log.count("it belongs to another user (65534)") == 1);
}

TEST_CASE("a directory that cannot be made or written leaves kernels in memory, with one warning") {
  if (geteuid() != 0) SINTER_SKIP("only root can become another user");
  const TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
  const int code = in_child([&] {
    if (!sinter::testing::become_other_user()) return sinter::testing::child_cannot;
    const CapturedLog log;
    DiskCache cache({directory / "c"});
    cache.store("key", "content");
    return !cache.usable() && log.lines().size() == 1 && log.count("Permission denied") == 1 ? 0 : 1;
  });
  CHECK(code == 0);
}

TEST_CASE("a hash collision is a miss") {
  const TemporaryDirectory directory;
  DiskCache cache({directory / "c"});
  cache.store("other", "its content");
  fs::rename(directory / "c/" + entry_file_name("other"), directory / "c/" + entry_file_name("key"));
  CHECK_FALSE(cache.load("key"));
  CHECK(cache.counters().rejected == 0);
  cache.store("key", "content");
  CHECK(cache.load("key") == "content");
}

TEST_CASE("many writers of one entry leave one complete entry") {
  const TemporaryDirectory directory;
  const std::string content(100'000, 'x');
  std::vector<std::thread> threads;
  DiskCache cache({directory / "c"});
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      DiskCache own({directory / "c"});
      for (int i = 0; i < 10; ++i) {
        own.store("key", content);
        if (const auto loaded = cache.load("key"); loaded != content) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(cache.counters().rejected == 0);
  CHECK(fs::exists(directory / "c/" + entry_file_name("key")));
  CHECK(std::distance(fs::directory_iterator(directory / "c"), fs::directory_iterator()) == 1);
}

TEST_CASE("entries unused for longest go first when there is too much") {
  const TemporaryDirectory directory;
  const std::string content(1000, 'x');
  DiskCache cache({directory / "c", 10'000});
  for (int i = 0; i < 8; ++i) {
    cache.store(std::to_string(i), content);
    set_age(directory / "c/" + entry_file_name(std::to_string(i)), 1000 - i);
  }
  CHECK(cache.load("0"));  // used now, so it stays
  cache.store("8", content);
  cache.store("9", content);
  CHECK(cache.load("0"));
  CHECK_FALSE(cache.load("1"));
  CHECK(cache.load("7"));
  CHECK(cache.load("9"));
  CHECK(cache.info().bytes <= 10'000);
  CHECK(cache.counters().evicted >= 1);
}

TEST_CASE("the cap counts what earlier processes left") {
  const TemporaryDirectory directory;
  const std::string content(1000, 'x');
  for (int i = 0; i < 9; ++i) DiskCache({directory / "c"}).store(std::to_string(i), content);
  DiskCache cache({directory / "c", 5000});
  cache.store("new", content);
  CHECK(cache.info().bytes <= 5000);
}

TEST_CASE("what alone is larger than the cache may be is not kept, with one warning") {
  const TemporaryDirectory directory;
  const CapturedLog log;
  DiskCache cache({directory / "c", 2000});
  cache.store("small", std::string(500, 'x'));
  for (const char* key : {"a kernel\nmore", "another"}) cache.store(key, std::string(3000, 'x'));
  CHECK_FALSE(cache.load("a kernel\nmore"));
  CHECK(cache.load("small"));
  CHECK(log.lines().size() == 1);
  CHECK(log.count("a kernel takes 3") == 1);
  CHECK(log.count("may have (2000), so it is not kept; choose a larger SINTER_CACHE_SIZE") == 1);
  cache.store("nearly all", std::string(1800, 'x'));  // more than what is left free of a full cache
  CHECK(cache.load("nearly all"));
  CHECK_FALSE(cache.load("small"));
}

TEST_CASE("SINTER_LOG=cache says of each entry whether it was missing, kept or found, and where") {
  const TemporaryDirectory directory;
  const ScopedEnvironment environment{{"SINTER_LOG", "cache"}};
  const CapturedLog log;
  DiskCache cache({directory / "c"});
  cache.load("cpu kernel a\nmore");
  cache.store("cpu kernel a\nmore", "content");
  cache.load("cpu kernel a\nmore");
  const std::string file = directory / "c/" + entry_file_name("cpu kernel a\nmore");
  CHECK(log.lines() == std::vector<std::string>{"sinter [cache] cpu kernel a: missing, " + file,
                                                "sinter [cache] cpu kernel a: kept, " + file,
                                                "sinter [cache] cpu kernel a: found, " + file});
}

TEST_CASE("list, verify and clear see entries and nothing else") {
  const TemporaryDirectory directory;
  DiskCache cache({directory / "c"});
  cache.store("cpu kernel a\nmore", "content");
  cache.store("cpu kernel b\nmore", "content");
  directory.write("c/notes.txt", "mine");
  directory.write("c/.new-1-1-1", "half");
  const auto list = cache.list();
  REQUIRE(list.size() == 2);
  CHECK(std::set<std::string>{list[0].title, list[1].title} ==
        std::set<std::string>{"cpu kernel a", "cpu kernel b"});
  CHECK(cache.info().entries == 2);
  CHECK(cache.verify().good == 2);
  std::string bytes = read_text(directory / "c/" + list[0].file);
  bytes.back() ^= 1;
  directory.write("c/" + list[0].file, bytes);
  CHECK(cache.verify().good == 1);
  CHECK(cache.verify().bad == std::vector<std::string>{list[0].file});
  CHECK(cache.clear() == 3);
  CHECK(read_text(directory / "c/notes.txt") == "mine");
  CHECK(cache.info().entries == 0);
}
