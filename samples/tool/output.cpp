#include "samples/tool/output.h"

#include <sinter/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

namespace tool {

namespace fs = std::filesystem;

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0)
    throw sinter::ValueError(std::string("standard output cannot be written to: ") + std::strerror(errno));
}

void write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const bool is_place = !fs::exists(status) || fs::is_regular_file(status);  // else a pipe or a device
  const fs::path led_to = fs::weakly_canonical(path, error);
  const fs::path place = error ? path : led_to;
  fs::path beside = place;
  if (is_place) beside += "." + std::to_string(::getpid()) + ".tmp";
  std::ofstream file(beside, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  error.clear();
  if (file && is_place) fs::rename(beside, place, error);
  if (file && !error) return;
  const std::string reason = file ? error.message() : std::strerror(errno);
  if (is_place) fs::remove(beside, error);
  throw sinter::ValueError(path.string() + " cannot be written: " + reason);
}

}  // namespace tool
