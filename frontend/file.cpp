#include "sinter/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "ir/base/check.h"
#include "runtime/file.h"

namespace sinter {
namespace {

std::atomic<unsigned> files{0};

bool write_to(const std::string& path, int flags, std::string_view bytes) {
  const int number = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (number < 0) return false;
  // Closing is the last chance of a file system to say that it did not keep the bytes.
  const bool written = runtime::write_all(number, bytes);
  const int error = errno;
  const bool closed = ::close(number) == 0;
  if (!written) errno = error;
  return written && closed;
}

}  // namespace

void write_file(const std::string& path, std::string_view bytes, std::string_view what) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  int error = 0;
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (write_to(path, 0, bytes)) return;
    error = errno;
  } else {
    const fs::path led_to = fs::weakly_canonical(path, none);  // of a link to nothing, the link itself
    const std::string place = none ? path : led_to.string();
    const std::string temporary = fmt::format("{}.{}.{}.tmp", place, ::getpid(), ++files);
    if (write_to(temporary, O_CREAT | O_EXCL, bytes) && std::rename(temporary.c_str(), place.c_str()) == 0)
      return;
    error = errno;
    ::unlink(temporary.c_str());
  }
  fail<ValueError>("{} cannot be written to {}: {}", what, path, std::strerror(error));
}

}  // namespace sinter
