#include "runtime/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

#include "ir/base/log.h"
#include "ir/base/settings.h"
#include "runtime/cache_entry.h"

namespace sinter::runtime {
namespace {

constexpr std::string_view temporary_prefix = ".new-";
constexpr std::int64_t stale_after = 3600;  // seconds; no write of an entry takes that long

/// Why the open directory must not be used, or an empty text.
std::string fault_of_directory(int directory) {
  struct stat info {};
  if (fstat(directory, &info) != 0) return std::strerror(errno);
  if (info.st_uid != geteuid()) return fmt::format("it belongs to another user ({})", info.st_uid);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others may write to it (mode {:o})", info.st_mode & 07777);
  if (faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) != 0) return "it cannot be written";
  return "";
}

/// Makes `path` and what is missing above it, each 0700 whatever the umask. False with errno set.
bool make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) == 0)
      chmod(part.c_str(), 0700);
    else if (errno != EEXIST && (end == std::string::npos || access(part.c_str(), F_OK) != 0))
      return false;
    if (end == std::string::npos) return true;
  }
}

struct Found {
  std::string file;
  std::int64_t bytes = 0, last_use = 0;
  bool temporary = false;
};

/// The entries and temporary files in the directory; whatever else lies there is none of ours.
std::vector<Found> scan(int directory) {
  std::vector<Found> found;
  // A descriptor of its own, since reading a directory moves the position that a duplicate would share.
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(again), closedir);
  if (!stream) {
    close(again);
    return found;
  }
  while (const dirent* entry = readdir(stream.get())) {
    const std::string file = entry->d_name;
    const bool temporary = file.starts_with(temporary_prefix);
    struct stat info {};
    if (!temporary && !is_entry_file_name(file)) continue;
    if (fstatat(directory, file.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    found.push_back({file, info.st_size, info.st_mtim.tv_sec, temporary});
  }
  return found;
}

/// What a key is of: its first line.
std::string_view title_of(std::string_view key) {
  return key.substr(0, key.find('\n'));
}

void warn_of_write(const std::string& directory, const char* reason) {
  warn_once("cache write", "the kernel cache in {} cannot be written: {}; what is compiled is used, not kept",
            directory, reason);
}

}  // namespace

DiskCacheOptions disk_cache_options() {
  const auto absolute = [](const char* variable) -> std::string {
    const char* value = std::getenv(variable);
    return value != nullptr && *value == '/' ? value : "";
  };
  const Settings& set = settings();
  DiskCacheOptions options;
  options.capacity = set.cache_size;
  if (!set.cache)
    options.reason = "SINTER_CACHE is off";
  else if (set.cache_size == 0)
    options.reason = "SINTER_CACHE_SIZE is off";
  else if (set.cache_dir.empty())
    options.reason = "SINTER_CACHE_DIR is off";
  else if (set.cache_dir != "auto")
    options.directory = std::filesystem::absolute(set.cache_dir).lexically_normal().string();
  else if (const std::string cache_home = absolute("XDG_CACHE_HOME"); !cache_home.empty())
    options.directory = cache_home + "/sinter";
  else if (const std::string home = absolute("HOME"); !home.empty())
    options.directory = home + "/.cache/sinter";
  else {
    options.reason = "there is no home directory; set SINTER_CACHE_DIR";
    warn_once("cache directory", "compiled kernels are kept in memory only: {}", options.reason);
  }
  return options;
}

DiskCache::DiskCache(DiskCacheOptions options) : options_(std::move(options)) {
  std::string& path = options_.directory;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();  // "link/" would follow the link
  if (path.empty()) return;
  if (const std::string fault = open_directory(); !fault.empty()) refuse(fault);
}

std::string DiskCache::open_directory() {
  const std::string& path = options_.directory;
  if (!make_directories(path)) return std::strerror(errno);
  FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) {
    const int error = errno;
    struct stat info {};
    const bool link = lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    return link ? "it is a symbolic link" : std::strerror(error);
  }
  std::string fault = fault_of_directory(directory.get());
  if (fault.empty()) directory_ = std::move(directory);
  return fault;
}

void DiskCache::refuse(const std::string& reason) {
  options_.reason = fmt::format("{} is not used: {}", options_.directory, reason);
  warn_once("cache directory", "compiled kernels are kept in memory only: the cache directory {}",
            options_.reason);
}

std::optional<std::string> DiskCache::load(std::string_view key) {
  if (!usable()) return std::nullopt;
  const std::string file = entry_file_name(key);
  const auto missing = [&] {
    ++misses_;
    log(Topic::cache, "{}: missing, {}/{}", title_of(key), options_.directory, file);
    return std::nullopt;
  };
  const auto bytes = read_entry_file(directory_.get(), file);
  if (!bytes) return missing();
  const auto entry = decode_entry(*bytes);
  if (!entry) {
    ++rejected_;
    log(Topic::cache, "{}/{} is damaged or not ours: removed", options_.directory, file);
    remove(file);
    return missing();
  }
  if (entry->key != key) return missing();  // of one hash: an entry of the other, which store() will replace
  ++hits_;
  log(Topic::cache, "{}: found, {}/{}", title_of(key), options_.directory, file);
  // The time of the last use, by which the oldest entries go.
  utimensat(directory_.get(), file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  return std::string(entry->content);
}

void DiskCache::store(std::string_view key, std::string_view content) {
  if (!usable()) return;
  std::call_once(swept_, [this] { sweep_and_measure(); });
  const std::string file = entry_file_name(key), bytes = encode_entry(key, content);
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size > options_.capacity) {
    warn_once(
        "cache size",
        "{} takes {} bytes, more than the kernel cache on disk may have ({}), so it is not kept; choose a "
        "larger SINTER_CACHE_SIZE",
        title_of(key), size, options_.capacity);
    return;
  }
  if (!write_entry(file, bytes)) return;
  ++written_;
  log(Topic::cache, "{}: kept, {}/{}", title_of(key), options_.directory, file);
  total_ += size;
  if (total_ > options_.capacity) evict(file);
}

bool DiskCache::write_entry(const std::string& file, std::string_view bytes) {
  static std::atomic<std::uint32_t> serial{0};
  const std::string temporary = fmt::format("{}{}-{}-{}", temporary_prefix, getpid(), ++serial,
                                            std::chrono::steady_clock::now().time_since_epoch().count());
  bool written = false;
  {
    const FileDescriptor opened(openat(directory_.get(), temporary.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    written = opened && fchmod(opened.get(), 0600) == 0 && write_all(opened.get(), bytes) &&
              fsync(opened.get()) == 0;
  }
  if (written && renameat(directory_.get(), temporary.c_str(), directory_.get(), file.c_str()) == 0)
    return true;
  const int error = errno;
  unlinkat(directory_.get(), temporary.c_str(), 0);
  warn_of_write(options_.directory, std::strerror(error));
  return false;
}

void DiskCache::drop(std::string_view key) {
  if (usable()) remove(entry_file_name(key));
}

void DiskCache::remove(const std::string& file) {
  if (unlinkat(directory_.get(), file.c_str(), 0) == 0 || errno != EISDIR) return;
  std::error_code ignored;
  std::filesystem::remove_all(options_.directory + "/" + file, ignored);
}

void DiskCache::sweep_and_measure() {
  const std::int64_t now = std::time(nullptr);
  std::int64_t total = 0;
  for (const Found& found : scan(directory_.get())) {
    if (!found.temporary)
      total += found.bytes;
    else if (now - found.last_use > stale_after)
      unlinkat(directory_.get(), found.file.c_str(), 0);
  }
  total_ = total;
}

void DiskCache::evict(const std::string& newest) {
  const std::lock_guard lock(evicting_);
  // Some room is made beyond what is needed, so that a full cache does not read the directory at every store.
  const std::int64_t wanted = options_.capacity - options_.capacity / 8;
  std::vector<Found> entries = scan(directory_.get());
  std::erase_if(entries, [](const Found& found) { return found.temporary; });
  std::sort(entries.begin(), entries.end(),
            [](const Found& a, const Found& b) { return a.last_use < b.last_use; });
  std::int64_t total = 0;
  for (const Found& entry : entries) total += entry.bytes;
  if (total <= options_.capacity) {
    total_ = total;
    return;
  }
  for (const Found& entry : entries) {
    if (total <= wanted) break;
    if (entry.file == newest) continue;
    remove(entry.file);
    total -= entry.bytes;
    ++evicted_;
  }
  total_ = total;
}

DiskCacheCounters DiskCache::counters() const {
  return {hits_, misses_, rejected_, written_, evicted_};
}

DiskCacheInfo DiskCache::info() const {
  DiskCacheInfo info{usable() ? options_.directory : "", options_.reason, 0, 0, options_.capacity};
  if (!usable()) return info;
  for (const Found& found : scan(directory_.get())) {
    if (!found.temporary) ++info.entries;
    info.bytes += found.bytes;
  }
  return info;
}

std::vector<DiskCacheEntry> DiskCache::list() const {
  std::vector<DiskCacheEntry> entries;
  if (!usable()) return entries;
  for (const Found& found : scan(directory_.get())) {
    if (found.temporary) continue;
    const auto bytes = read_entry_file(directory_.get(), found.file);
    const auto entry = bytes ? decode_entry(*bytes) : std::nullopt;
    const std::string_view key = entry ? entry->key : "(damaged)";
    entries.push_back({found.file, std::string(title_of(key)), found.bytes, found.last_use});
  }
  std::sort(entries.begin(), entries.end(), [](const DiskCacheEntry& a, const DiskCacheEntry& b) {
    return a.last_use != b.last_use ? a.last_use > b.last_use : a.file < b.file;
  });
  return entries;
}

DiskCache::Verified DiskCache::verify() const {
  Verified verified;
  if (!usable()) return verified;
  for (const Found& found : scan(directory_.get())) {
    if (found.temporary) continue;
    const auto bytes = read_entry_file(directory_.get(), found.file);
    const auto entry = bytes ? decode_entry(*bytes) : std::nullopt;
    if (entry && entry_file_name(entry->key) == found.file)
      ++verified.good;
    else
      verified.bad.push_back(found.file);
  }
  return verified;
}

std::int64_t DiskCache::clear() {
  std::int64_t removed = 0;
  if (!usable()) return removed;
  for (const Found& found : scan(directory_.get())) {
    remove(found.file);
    ++removed;
  }
  total_ = 0;
  return removed;
}

}  // namespace sinter::runtime
