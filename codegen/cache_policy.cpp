#include "codegen/cache_policy.h"

#include <algorithm>

#include "codegen/vary.h"

namespace sinter::codegen {
namespace {

/// Whether blocks wait for each other over a row, with nothing on its way meanwhile that the cache is to
/// keep.
bool waits_for_blocks(const Kernel& k, const Schedule& s) {
  const bool fetches_ahead = s.rows_ahead > 0 && !s.skewed;
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    if (sized(s.axes[i], Level::cluster) && !fetches_ahead) return true;
    if (k.axes[i].reduced && sized(s.axes[i], Level::grid)) return true;
  }
  return false;
}

/// Loads that stay where they are written take registers, which values of 8 bytes and sums in a fixed order
/// have none to spare of.
bool is_short_of_registers(const Kernel& k) {
  constexpr int wide = 8;
  return (k.fixed_fold_order && k.has_reduction()) ||
         std::ranges::any_of(k.values, [](const KernelValue& v) { return size_of(v.dtype) == wide; });
}

}  // namespace

bool loads_outlast_stores(const Kernel& k, const Schedule& s, const DeviceDescription& device) {
  constexpr std::int64_t caches = 4;       // so many times its size must be moved
  constexpr std::int64_t least_share = 4;  // of what is read, a fourth is written
  const ir::Dim read = k.bytes(false), written = k.bytes(true);
  if (device.outlasting_bytes == 0 || !read.is_constant() || !written.is_constant() ||
      waits_for_blocks(k, s) || is_short_of_registers(k))
    return false;
  return read.value() + written.value() >= caches * device.outlasting_bytes &&
         least_share * written.value() >= read.value();
}

}  // namespace sinter::codegen
