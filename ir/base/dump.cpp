#include "ir/base/dump.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "ir/base/log.h"
#include "ir/base/settings.h"

namespace sinter {

bool dump_enabled() {
  return !settings().dump.empty();
}

std::string new_dump_prefix(std::string_view name) {
  static std::atomic<int> last{0};
  return dump_enabled() ? fmt::format("{:04}_{}", ++last, safe_file_name(name)) : "";
}

std::string safe_file_name(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string safe(text.substr(0, longest));
  for (char& c : safe) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (!plain) c = '_';
  }
  return safe.empty() ? "_" : safe;
}

void write_dump(std::string_view name, std::string_view extension, std::string_view text) {
  if (!dump_enabled()) return;
  const std::filesystem::path directory(settings().dump);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  std::ofstream file(directory / (safe_file_name(name) + std::string(extension)), std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush())
    warn_once("dump " + directory.string(), "cannot write to SINTER_DUMP={}", directory.string());
}

}  // namespace sinter
