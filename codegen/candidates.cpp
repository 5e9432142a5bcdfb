#include "codegen/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cache_policy.h"
#include "codegen/fit_registers.h"
#include "ir/base/check.h"

namespace sinter::codegen {

std::vector<Schedule> candidates(const Kernel& k, const Schedule& chosen, const DeviceDescription& device) {
  const bool orderly = k.fixed_fold_order && k.has_reduction();
  const bool empty = std::ranges::any_of(k.axes, [](const KernelAxis& a) { return a.extent.is(0); });
  std::vector<Schedule> list{chosen};
  if (device.target.backend == Backend::cpu || orderly || empty || chosen.batch > 1) return list;
  const std::span<const Chooser> choosers = choosers_of(device.target.backend);
  const auto by = std::ranges::find(choosers, chosen.chooser, &Chooser::name);
  SINTER_ASSERT(by != choosers.end(), "no chooser is called {}", chosen.chooser);
  if (by->vary == nullptr) return list;
  for (Schedule& s : by->vary(k, device, chosen)) {
    s.wide_index = chosen.wide_index;
    s.outlasting = loads_outlast_stores(k, s, device);
    if (s.block_threads > device.block_threads || list.size() == most_candidates) continue;
    if (!fits_registers(k, s, device)) continue;
    if (std::ranges::find(list, s) == list.end()) list.push_back(std::move(s));
  }
  return list;
}

std::string identity(const Schedule& s) {
  std::string text =
      fmt::format("{}; {} threads, vector {}, {}{}{}lead {}, {} blocks at least", s.str(), s.block_threads,
                  s.vector, s.columns ? "columns, " : "", s.fetch_ahead ? "fetch ahead, " : "",
                  s.wide_index ? "wide index, " : "", s.lead, s.least_blocks);
  for (const SharedTile& t : s.tiles)
    text += fmt::format("; tile {} {} by {}, {} after {}", t.load, t.store, t.access, t.skew, t.skew_every);
  return text;
}

}  // namespace sinter::codegen
