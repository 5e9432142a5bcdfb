#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <functional>

#include "runtime/cache_entry.h"
#include "runtime/disk_cache.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter::runtime;
using sinter::testing::CapturedLog;
using sinter::testing::child_cannot;
using sinter::testing::in_child;
using sinter::testing::read_text;
using sinter::testing::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

/// A cache with one entry, whose file something then happens to.
struct Damaged {
  TemporaryDirectory directory;
  std::string path = directory / "c", file = path + "/" + entry_file_name("key");
  DiskCache cache{{path}};

  Damaged() { cache.store("key", "content"); }

  /// The entry is a miss now, counted as rejected, and can be written and read again.
  void check_rejected() {
    CHECK_FALSE(cache.load("key"));
    CHECK(cache.counters().rejected == 1);
    CHECK(cache.counters().misses == 1);
    cache.store("key", "content again");
    CHECK(cache.load("key") == "content again");
    CHECK(fs::is_regular_file(fs::symlink_status(file)));
  }
};

}  // namespace

TEST_CASE("an entry cut anywhere is a miss and is replaced") {
  Damaged damaged;
  const auto size = GENERATE(as<std::uintmax_t>{}, 0, 1, 15, 16, 30, 39, 40, 41, 44, 46, 49);
  REQUIRE(fs::file_size(damaged.file) == 40 + 3 + 7);
  fs::resize_file(damaged.file, size);
  damaged.check_rejected();
}

TEST_CASE("an entry with any one bit flipped is never used") {
  Damaged damaged;
  const std::string whole = read_text(damaged.file);
  int used = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    damaged.directory.write("c/" + entry_file_name("key"), bytes);
    fs::permissions(damaged.file, fs::perms::owner_read | fs::perms::owner_write);
    used += damaged.cache.load("key").has_value();
  }
  CHECK(used == 0);
}

TEST_CASE("an entry with bytes after its end is a miss") {
  Damaged damaged;
  damaged.directory.write("c/" + entry_file_name("key"), read_text(damaged.file) + "x");
  damaged.check_rejected();
}

TEST_CASE("a fifo in the place of an entry is a miss, without waiting for a writer") {
  Damaged damaged;
  fs::remove(damaged.file);
  REQUIRE(mkfifo(damaged.file.c_str(), 0600) == 0);
  damaged.check_rejected();
}

TEST_CASE("a link in the place of an entry is a miss, even to a good entry") {
  Damaged damaged;
  fs::rename(damaged.file, damaged.directory / "elsewhere");
  fs::create_symlink(damaged.directory / "elsewhere", damaged.file);
  damaged.check_rejected();
  CHECK(fs::exists(damaged.directory / "elsewhere"));
}

TEST_CASE("a directory in the place of an entry is a miss and makes way") {
  Damaged damaged;
  fs::remove(damaged.file);
  fs::create_directories(damaged.file + "/inner");
  damaged.check_rejected();
}

TEST_CASE("an entry that others can write to is a miss") {
  Damaged damaged;
  REQUIRE(chmod(damaged.file.c_str(), GENERATE(as<mode_t>{}, 0620, 0602)) == 0);
  damaged.check_rejected();
}

TEST_CASE("an entry of another user is a miss") {
  if (geteuid() != 0) SINTER_SKIP("only root can make a file of another user's");
  Damaged damaged;
  REQUIRE(chown(damaged.file.c_str(), 65534, 65534) == 0);
  damaged.check_rejected();
}

TEST_CASE("an entry that claims an absurd size is a miss and takes no memory") {
  Damaged damaged;
  fs::resize_file(damaged.file, std::uintmax_t{1} << 40);
  damaged.check_rejected();
}

TEST_CASE("a full disk costs one warning and nothing else") {
  const TemporaryDirectory directory;
  const int code = in_child([&] {
    if (!sinter::testing::mount_tmpfs(directory.path(), "size=64k,mode=0700")) return child_cannot;
    const CapturedLog log;
    DiskCache cache({directory.path()});
    cache.store("small", "content");
    for (int i = 0; i < 3; ++i) cache.store("large", std::string(1 << 20, 'x'));
    const bool clean = directory.names().size() == 1;  // no half-written file is left
    return log.lines().size() == 1 && log.count("No space left on device") == 1 && clean &&
                   cache.load("small") == "content" && !cache.load("large")
               ? 0
               : 1;
  });
  if (code == child_cannot) SINTER_SKIP("needs the right to mount a tmpfs");
  CHECK(code == 0);
}

TEST_CASE("a disk that becomes read-only costs one warning, and its entries are still read") {
  const TemporaryDirectory directory;
  const int code = in_child([&] {
    if (!sinter::testing::mount_tmpfs(directory.path(), "mode=0700")) return child_cannot;
    const CapturedLog log;
    DiskCache cache({directory.path()});
    cache.store("old", "content");
    if (mount("none", directory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return child_cannot;
    for (int i = 0; i < 3; ++i) cache.store("new", "content");
    return log.lines().size() == 1 && log.count("Read-only file system") == 1 &&
                   cache.load("old") == "content" && !cache.load("new")
               ? 0
               : 1;
  });
  if (code == child_cannot) SINTER_SKIP("needs the right to mount a tmpfs");
  CHECK(code == 0);
}

TEST_CASE("a limit on the size of files costs one warning") {
  const TemporaryDirectory directory;
  const int code = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const CapturedLog log;
    DiskCache cache({directory / "c"});
    for (int i = 0; i < 3; ++i) cache.store("key", std::string(5000, 'x'));
    return log.lines().size() == 1 && !cache.load("key") && fs::is_empty(directory / "c") ? 0 : 1;
  });
  CHECK(code == 0);
}

TEST_CASE("a writer that is killed leaves a complete entry or none") {
  const TemporaryDirectory directory;
  const std::string content(1 << 20, 'x');
  for (int attempt = 0; attempt < 20; ++attempt) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      DiskCache cache({directory / "c"});
      for (int i = 0;; ++i) cache.store(std::to_string(i % 4), content);
    }
    usleep(static_cast<useconds_t>(2000 + attempt * 1000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    DiskCache cache({directory / "c"});
    for (int i = 0; i < 4; ++i)
      if (const auto loaded = cache.load(std::to_string(i))) REQUIRE(*loaded == content);
    REQUIRE(cache.counters().rejected == 0);
  }
}

TEST_CASE("temporary files left by the dead are swept, those of the living are not") {
  const TemporaryDirectory directory;
  DiskCache({directory / "c"}).store("key", "content");
  const std::string stale = directory.write("c/.new-1-2-3", "half"),
                    fresh = directory.write("c/.new-4-5-6", "half");
  const timespec old[2] = {{std::time(nullptr) - 7200, 0}, {std::time(nullptr) - 7200, 0}};
  REQUIRE(utimensat(AT_FDCWD, stale.c_str(), old, 0) == 0);
  DiskCache cache({directory / "c"});
  cache.store("another", "content");
  CHECK_FALSE(fs::exists(stale));
  CHECK(fs::exists(fresh));
  CHECK(cache.load("key") == "content");
}
