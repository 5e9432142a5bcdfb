// The kernel cache on disk, which all processes of a user share: SINTER_CACHE_DIR, SINTER_CACHE_SIZE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::cache {

struct Info {
  std::string directory;  // empty if kernels are kept in memory only
  std::string reason;     // why they are
  std::int64_t entries = 0;
  std::int64_t bytes = 0, capacity = 0;
};
Info info();

struct Entry {
  std::string file;   // name within the directory
  std::string title;  // what it holds
  std::int64_t bytes = 0;
  std::int64_t last_use = 0;  // seconds since 1970
};
std::vector<Entry> list();

struct Verified {
  std::int64_t good = 0;
  std::vector<std::string> bad;  // names of files
};
/// Reads every entry and compares its checksum. A bad entry is never used; clear() removes it.
Verified verify();

/// Removes all entries; returns how many.
std::int64_t clear();

}  // namespace sinter::cache
