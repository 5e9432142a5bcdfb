// Compiled code on disk, found again by the text of everything it was made from.
//
// One file an entry, named by a hash of its key, and holding the key in full, the content and a checksum; an
// entry that differs from what is asked for in any bit is a miss. Files appear by rename, so that a reader
// sees a complete entry or none, whatever else runs or dies. A directory that others could write to is never
// used. No failure of the disk is an error: the cache then does less, and says so once.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/file.h"

namespace sinter::runtime {

struct DiskCacheOptions {
  std::string directory;            // empty: nothing is kept on disk
  std::int64_t capacity = 1 << 30;  // bytes of all entries together
  std::string reason{};             // why the directory is empty, for those who ask
};

/// What SINTER_CACHE, SINTER_CACHE_DIR, SINTER_CACHE_SIZE, XDG_CACHE_HOME and HOME say.
DiskCacheOptions disk_cache_options();

struct DiskCacheCounters {
  std::int64_t hits = 0, misses = 0;
  std::int64_t rejected = 0;  // misses because the entry was damaged or not a file of ours
  std::int64_t written = 0, evicted = 0;
};

struct DiskCacheEntry {
  std::string file;           // name within the directory
  std::string title;          // first line of the key
  std::int64_t bytes = 0;     // of the file
  std::int64_t last_use = 0;  // seconds since 1970
};

struct DiskCacheInfo {
  std::string directory;  // empty if no directory is used
  std::string reason;     // why none is
  std::int64_t entries = 0, bytes = 0, capacity = 0;
};

class DiskCache {
 public:
  /// Makes the directory if it is not there, and checks it. Warns once if it cannot be used.
  explicit DiskCache(DiskCacheOptions options);

  bool usable() const { return static_cast<bool>(directory_); }

  /// The content stored under exactly this key, or nothing.
  std::optional<std::string> load(std::string_view key);

  /// Keeps the content under this key, and removes the entries unused for longest if there is too much then.
  /// Content that alone is too much is not kept, and warned of once.
  void store(std::string_view key, std::string_view content);

  /// Removes the entry; for content that was stored well and turns out useless.
  void drop(std::string_view key);

  DiskCacheCounters counters() const;
  DiskCacheInfo info() const;
  std::vector<DiskCacheEntry> list() const;

  struct Verified {
    std::int64_t good = 0;
    std::vector<std::string> bad;  // names of files
  };
  /// Reads every entry and compares its checksum; changes nothing.
  Verified verify() const;

  /// Removes all entries and temporary files; returns how many.
  std::int64_t clear();

 private:
  std::string open_directory();  // returns why it cannot be used, or nothing
  void refuse(const std::string& reason);
  bool write_entry(const std::string& file, std::string_view bytes);
  void remove(const std::string& file);
  void sweep_and_measure();
  void evict(const std::string& newest);  // which stays

  DiskCacheOptions options_;
  FileDescriptor directory_;
  std::once_flag swept_;
  std::atomic<std::int64_t> total_{0};  // bytes in the directory, as far as this process knows
  std::mutex evicting_;
  std::atomic<std::int64_t> hits_{0}, misses_{0}, rejected_{0}, written_{0}, evicted_{0};
};

}  // namespace sinter::runtime
