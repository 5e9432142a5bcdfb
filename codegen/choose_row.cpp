// Kernels on the CPU that fold the axes along which memory runs: a row each for a thread; few long rows in
// pieces.
#include <algorithm>

#include "codegen/schedule.h"

namespace sinter::codegen {
namespace {

constexpr int piece = 1 << 16;         // elements of a long row that a thread of the CPU takes at a time
constexpr std::int64_t few_rows = 64;  // more than that keep all cores busy as they are

bool few_and_long(const Kernel& k) {
  const ir::Dim rows = k.rows(), length = k.row_length();
  return rows.is_constant() && length.is_constant() && rows.value() <= few_rows &&
         length.value() >= 2 * piece;
}

/// Rows one after the other, each small enough that it and the next one stay in a core's cache.
bool fits_cache(const Kernel& k) {
  constexpr std::int64_t most_elements = 1 << 14;
  const ir::Dim length = k.row_length();
  return k.axes.size() == 2 && length.is_constant() && length.value() <= most_elements;
}

}  // namespace

std::optional<Schedule> choose_row(const Kernel& k, const DeviceDescription&, std::string& why) {
  const bool folds_innermost = k.has_reduction() && !k.axes.empty() && k.axes.back().reduced;
  if (!folds_innermost || !runs_along(k, static_cast<int>(k.axes.size()) - 1)) {
    why = "row: memory does not run along a folded innermost axis";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "row";
  for (const KernelAxis& a : k.axes) s.axes.push_back({{a.reduced ? Level::loop : Level::thread}});
  if (few_and_long(k)) s.axes.back().insert(s.axes.back().begin(), {Level::thread, piece});
  s.axes.back().push_back({Level::vector});
  s.crossings = costly_crossings(k, Residence::shared);
  s.fetch_ahead = fits_cache(k);
  return s;
}

}  // namespace sinter::codegen
