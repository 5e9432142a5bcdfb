#include "frontend/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "ir/base/check.h"
#include "runtime/file.h"

namespace sinter::frontend {
namespace {

std::atomic<unsigned> files{0};

bool write_beside(const std::string& temporary, std::string_view bytes) {
  const int number = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), ++files);
  if (write_beside(temporary, bytes) && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  ::unlink(temporary.c_str());
  fail<ValueError>("{} cannot be written to {}: {}", what, path, std::strerror(error));
}

}  // namespace sinter::frontend
