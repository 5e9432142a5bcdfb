#include "runtime/private_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "ir/base/check.h"

namespace sinter::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "sinter-";
constexpr const char* lock_name = "/in-use";

/// Makes the file that is locked for as long as it is open. It gets its name when it is locked, so that
/// nobody finds it before.
FileDescriptor make_lock(const std::string& directory) {
  const std::string name = directory + lock_name, unnamed = name + ".new";
  FileDescriptor file(open(unnamed.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file && flock(file.get(), LOCK_EX | LOCK_NB) == 0) std::rename(unnamed.c_str(), name.c_str());
  return file;  // without a lock, where the file system has none, the directory may stay for good
}

bool is_ours(const struct stat& info) {
  return info.st_uid == geteuid();
}

/// Whether it is such a directory of this user, whose process is no more.
bool is_abandoned(const std::string& directory) {
  struct stat info {};
  if (lstat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || !is_ours(info)) return false;
  const FileDescriptor file(
      open((directory + lock_name).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file && fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && is_ours(info) &&
         flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

void remove_abandoned_directories() {
  std::error_code ignored;
  for (fs::directory_iterator at(temporary_directory(), ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string directory = at->path().string();
    std::error_code also_ignored;
    if (at->path().filename().string().starts_with(prefix) && is_abandoned(directory))
      fs::remove_all(directory, also_ignored);
  }
}

PrivateDirectory::PrivateDirectory() : path_(fmt::format("{}/{}XXXXXX", temporary_directory(), prefix)) {
  static std::once_flag once;
  std::call_once(once, remove_abandoned_directories);
  if (mkdtemp(path_.data()) == nullptr)
    fail<CompileError>(
        "cannot make a directory for temporary files in {}: {}; set TMPDIR to one that can be "
        "written",
        temporary_directory(), std::strerror(errno));
  chmod(path_.c_str(), 0700);  // a umask may have taken even the owner's rights
  lock_ = make_lock(path_);
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

void PrivateDirectory::keep() {
  kept_ = true;
  unlink((path_ + lock_name).c_str());
}

}  // namespace sinter::runtime
