#include "runtime/cache_entry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/file.h"

namespace sinter::runtime {
namespace {

constexpr std::string_view suffix = ".entry";
constexpr std::size_t hash_digits = 32;
constexpr off_t most_bytes = 1 << 30;  // no compiled kernel comes near

struct Header {
  std::array<char, 16> magic;
  std::uint64_t key_bytes, content_bytes;
  std::uint64_t checksum;  // of the sizes, the key and the content
};

constexpr std::array<char, 16> magic{'s', 'i', 'n', 't', 'e', 'r', ' ',  'c',
                                     'a', 'c', 'h', 'e', ' ', '1', '\n', '\0'};

std::uint64_t checksum(const Header& header, std::string_view body) {
  const std::uint64_t sizes = XXH3_64bits(&header.key_bytes, 2 * sizeof(std::uint64_t));
  return XXH3_64bits_withSeed(body.data(), body.size(), sizes);
}

}  // namespace

std::string entry_file_name(std::string_view key) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return fmt::format("{:016x}{:016x}{}", hash.high64, hash.low64, suffix);
}

bool is_entry_file_name(std::string_view file) {
  return file.size() == hash_digits + suffix.size() && file.ends_with(suffix) &&
         file.find_first_not_of("0123456789abcdef") == hash_digits;
}

std::string encode_entry(std::string_view key, std::string_view content) {
  Header header{magic, key.size(), content.size(), 0};
  std::string file(sizeof(Header), '\0');
  file.reserve(sizeof(Header) + key.size() + content.size());
  file.append(key).append(content);
  header.checksum = checksum(header, std::string_view(file).substr(sizeof(Header)));
  std::memcpy(file.data(), &header, sizeof(Header));
  return file;
}

std::optional<DecodedEntry> decode_entry(std::string_view file) {
  Header header{};
  if (file.size() < sizeof(Header)) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof(Header));
  const std::string_view body = file.substr(sizeof(Header));
  if (header.magic != magic || header.key_bytes > body.size() ||
      header.content_bytes != body.size() - header.key_bytes || header.checksum != checksum(header, body))
    return std::nullopt;
  return DecodedEntry{body.substr(0, header.key_bytes), body.substr(header.key_bytes)};
}

std::optional<std::string> read_entry_file(int directory, const std::string& file) {
  // O_NONBLOCK, since opening a fifo would wait for its writer.
  const FileDescriptor opened(
      openat(directory, file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!opened) {
    const bool foreign = errno == ELOOP || errno == ENXIO;  // a symbolic link, a socket
    return foreign ? std::optional<std::string>("") : std::nullopt;
  }
  struct stat info {};
  constexpr mode_t others_write = S_IWGRP | S_IWOTH;
  if (fstat(opened.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & others_write) != 0 || info.st_size > most_bytes)
    return "";
  std::string bytes;
  if (!read_all(opened.get(), bytes, static_cast<std::size_t>(info.st_size))) return "";
  return bytes;
}

}  // namespace sinter::runtime
