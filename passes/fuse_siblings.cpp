// Horizontal fusion: groups over one domain that read the same memory become one kernel with several outputs,
// which saves reading it again and a launch.
#include <algorithm>

#include "passes/fuser.h"

namespace sinter::passes {

using ir::Value;

void Fuser::join_siblings() {
  // Readers of each stored value, in order; only neighbours are compared, which keeps this linear.
  constexpr std::size_t window = 4;
  std::vector<std::vector<int>> readers(g_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (find(static_cast<int>(i)) != static_cast<int>(i) || groups_[i].kind != GroupKind::kernel) continue;
    for (Value s : groups_[i].sources)
      if (readers[s.id].empty() || readers[s.id].back() != static_cast<int>(i))
        readers[s.id].push_back(static_cast<int>(i));
  }
  for (const std::vector<int>& groups : readers)
    for (std::size_t i = 0; i < groups.size(); ++i)
      for (std::size_t j = i + 1; j < groups.size() && j <= i + window; ++j)
        if (find(groups[i]) != find(groups[j])) join(find(groups[i]), find(groups[j]));
}

bool Fuser::join(int a, int b) {
  Building &x = groups_[static_cast<std::size_t>(a)], &y = groups_[static_cast<std::size_t>(b)];
  if (x.alone || y.alone || x.in_segments || y.in_segments) return false;
  Building &outer = x.has_reduction ? x : y, &inner = x.has_reduction ? y : x;
  const bool across = are_rows_and_columns(x, y);
  if (!across && (outer.domain != inner.domain || (inner.has_reduction && inner.reduced != outer.reduced)))
    return false;
  if (!over_budget(x, y).empty() || reads_stored(x, b) || reads_stored(y, a)) return false;
  if (depends(a, b, {}) || depends(b, a, {})) return false;
  if (across) return fold_across(a, b, {}).empty();
  inner.reduced = outer.reduced;
  inner.written = outer.written;
  inner.has_reduction = outer.has_reduction;
  absorb(a, b);
  return true;
}

}  // namespace sinter::passes
