#include "sinter/cache.h"

#include "runtime/kernel_cache.h"

namespace sinter::cache {

Info info() {
  const runtime::DiskCacheInfo i = runtime::kernel_cache().disk().info();
  return {i.directory, i.reason, i.entries, i.bytes, i.capacity};
}

std::vector<Entry> list() {
  std::vector<Entry> entries;
  for (const runtime::DiskCacheEntry& e : runtime::kernel_cache().disk().list())
    entries.push_back({e.file, e.title, e.bytes, e.last_use});
  return entries;
}

Verified verify() {
  const runtime::DiskCache::Verified v = runtime::kernel_cache().disk().verify();
  return {v.good, v.bad};
}

std::int64_t clear() {
  return runtime::kernel_cache().disk().clear();
}

}  // namespace sinter::cache
