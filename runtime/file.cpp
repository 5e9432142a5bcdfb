#include "runtime/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ir/base/log.h"

namespace sinter::runtime {

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) close(number_);
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool read_all(int file, std::string& bytes, std::size_t size) {
  bytes.resize(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = read(file, bytes.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count == 0) errno = 0;
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  return true;
}

bool write_new_file(const std::string& path, std::string_view bytes) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file && fchmod(file.get(), 0600) == 0 && write_all(file.get(), bytes);
}

bool read_file(const std::string& path, std::string& bytes) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0) return false;
  if (!S_ISREG(info.st_mode)) {
    errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    return false;
  }
  return read_all(file.get(), bytes, static_cast<std::size_t>(info.st_size));
}

std::string temporary_directory() {
  const char* directory = std::getenv("TMPDIR");
  if (directory == nullptr || *directory != '/') return "/tmp";
  struct stat info {};
  const bool is_there = stat(directory, &info) == 0;
  if (is_there && !S_ISDIR(info.st_mode)) errno = ENOTDIR;
  if (is_there && S_ISDIR(info.st_mode) && faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0)
    return directory;
  warn_once(std::string("TMPDIR ") + directory,
            "TMPDIR={} cannot be used, so temporary files are put in /tmp: {}", directory,
            std::strerror(errno));
  return "/tmp";
}

}  // namespace sinter::runtime
