#include "codegen/schedule.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "codegen/cache_policy.h"
#include "codegen/fit_registers.h"
#include "codegen/staging.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

std::string_view name(Level level) {
  switch (level) {
    case Level::grid:
      return "grid";
    case Level::cluster:
      return "cluster";
    case Level::block:
      return "block";
    case Level::warp:
      return "warp";
    case Level::lane:
      return "lane";
    case Level::thread:
      return "thread";
    case Level::loop:
      return "loop";
    case Level::vector:
      break;
  }
  return "vector";
}

std::string_view name(Residence residence, bool on_gpu) {
  switch (residence) {
    case Residence::registers:
      return "in registers";
    case Residence::shared:
      return on_gpu ? "in shared memory" : "in working memory";
    case Residence::reload:
      return "loaded again";
    case Residence::recompute:
      break;
  }
  return "computed again";
}

/// 32-bit index arithmetic is enough when no address, guard or count reaches 2^31, nor does a counter that a
/// block of threads steps beyond the last element.
bool needs_wide_index(const Kernel& k) {
  constexpr std::int64_t step = 1 << 17;  // above what a block takes at once
  constexpr std::int64_t limit = (std::int64_t{1} << 31) - step;
  auto exceeds = [&](const ir::Dim& d) {
    return !d.is_constant() || d.value() >= limit || d.value() <= -limit;
  };
  auto reaches_far = [&](const Affine& a) {
    if (exceeds(a.constant)) return true;
    double reach = std::abs(static_cast<double>(a.constant.value()));
    for (const Term& t : a.terms) {
      if (exceeds(t.factor) || exceeds(k.atoms[t.atom].extent)) return true;
      reach += std::abs(static_cast<double>(t.factor.value())) *
               static_cast<double>(k.atoms[t.atom].extent.value());
    }
    return reach >= static_cast<double>(limit);
  };
  for (const KernelValue& v : k.values)
    if (reaches_far(v.address) || reaches_far(v.range.index) || exceeds(v.length)) return true;
  for (const KernelStore& s : k.stores)
    if (reaches_far(s.address)) return true;
  for (int i = 0; i < k.atoms.size(); ++i)
    if (reaches_far(k.atoms[i].index) || exceeds(k.atoms[i].extent)) return true;
  // Segments are parts of the folded axis, which no row walks over as a whole.
  if (k.segment_axis() >= 0) return exceeds(k.rows()) || exceeds(k.row_length());
  return exceeds(k.rows() * k.row_length());
}

}  // namespace

std::string Schedule::str() const {
  std::string text = chooser;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    text += fmt::format("{} i{}:", i == 0 ? ":" : ";", i);
    for (std::size_t j = 0; j < axes[i].size(); ++j) {
      text += fmt::format("{} {}", j ? "," : "", name(axes[i][j].level));
      if (axes[i][j].size != 0) text += fmt::format(" {}", axes[i][j].size);
    }
  }
  if (lead >= 0) text += fmt::format("; along i{}", lead);
  for (const SharedTile& t : tiles)
    text += t.load >= 0 ? fmt::format("; v{} through a tile", t.load)
                        : fmt::format("; store {} through a tile", t.store);
  if (skewed) text += "; skewed";
  if (fetch_ahead) text += "; next row fetched ahead";
  for (const Crossing& c : crossings)
    text += fmt::format("; v{} {}", c.value, name(c.residence, block_threads > 1));
  for (int v : joined) text += fmt::format("; v{} folded along", v);
  for (int v : bulk_loads) text += fmt::format("; v{} by bulk copy", v);
  if (rows_at_once > 1) text += fmt::format("; {} rows at once", rows_at_once);
  if (rows_ahead > 0) text += fmt::format("; {} rows ahead brought nearer", rows_ahead);
  if (outlasting) text += "; loads outlast stores in the cache";
  if (loads_ahead) text += "; what all rows share a step ahead";
  if (batch > 1) text += fmt::format("; {} at most in one launch{}", batch, in_turn ? ", in turn" : "");
  return text;
}

bool runs_along(const Kernel& k, int axis) {
  auto walks = [&](const Affine& a) { return a.factor(axis).is(1) || a.factor(axis).is(0); };
  return std::ranges::all_of(
             k.values,
             [&](const KernelValue& v) { return v.kind != KernelValue::Kind::load || walks(v.address); }) &&
         std::ranges::all_of(k.stores, [&](const KernelStore& s) { return walks(s.address); });
}

std::vector<Crossing> costly_crossings(const Kernel& k, Residence residence) {
  constexpr int least_flops = 8;  // a function such as exp costs more than writing and reading one element
  std::vector<Crossing> crossings;
  const auto costly = [&](int v) { return flops(k.values[static_cast<std::size_t>(v)]) >= least_flops; };
  for (const Walk& w : stage(k, costly).walks)
    for (int v : w.kept) crossings.push_back({v, residence});
  return crossings;
}

std::span<const Chooser> choosers_of(Backend backend) {
  static constexpr Chooser on_cpu[] = {{"segments", choose_segments},     {"pointwise", choose_pointwise},
                                       {"short rows", choose_short_rows}, {"row", choose_row},
                                       {"column", choose_column},         {"plain", choose_plain}};
  static constexpr Chooser on_gpu[] = {{"segments", choose_segments},
                                       {"rows across", choose_rows_across, vary_rows_across},
                                       {"tiles", choose_tiles, vary_tiles},
                                       {"pointwise", choose_pointwise, vary_pointwise},
                                       {"team columns", choose_team_columns, vary_team_columns},
                                       {"split rows", choose_split_rows, vary_split_rows},
                                       {"shared rows", choose_shared_rows, vary_shared_rows},
                                       {"team rows", choose_team_rows, vary_team_rows}};
  if (backend == Backend::cpu) return on_cpu;
  return on_gpu;
}

Schedule choose_schedule(const Kernel& kernel, const DeviceDescription& device,
                         std::vector<std::string>* refusals) {
  const bool cpu = device.target.backend == Backend::cpu;
  const auto choose = [&](const DeviceDescription& for_device) {
    if (refusals) refusals->clear();
    for (const Chooser& chooser : choosers_of(device.target.backend)) {
      std::string why;
      if (std::optional<Schedule> s = chooser.choose(kernel, for_device, why)) {
        // The host's addresses are 64 bits wide anyway, so there narrow indices would only add conversions.
        s->wide_index = cpu || needs_wide_index(kernel);
        s->outlasting = loads_outlast_stores(kernel, *s, device);
        return *std::move(s);
      }
      if (refusals) refusals->push_back(why);
    }
    fail<InternalError>("no schedule takes the kernel\n{}", kernel.str());
  };
  return cpu ? choose(device) : fit_registers(kernel, device, choose);
}

}  // namespace sinter::codegen
