#include "runtime/batch_launches.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace sinter::runtime {
namespace {

constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_kept_bytes = 64 << 20;

/// Launches without a bound on their instances.
struct Joined {
  std::vector<std::vector<int>> launches;
  std::vector<std::int64_t> blocks, kept_bytes;  // of each launch

  bool has_room(std::size_t launch, const LaunchCandidate& c) const {
    return blocks[launch] + c.blocks <= most_blocks &&
           (c.kept_bytes == 0 || kept_bytes[launch] + c.kept_bytes <= most_kept_bytes);
  }
  void add(std::size_t launch, int number, const LaunchCandidate& c) {
    launches[launch].push_back(number);
    blocks[launch] += c.blocks;
    kept_bytes[launch] += c.kept_bytes;
  }
  void append() {
    launches.emplace_back();
    blocks.push_back(0);
    kept_bytes.push_back(0);
  }
};

/// A candidate joins the first launch of its text that runs after all it waits for, else has a new one, the
/// last. So nothing ever waits for a later launch.
Joined join_by_text(std::span<const LaunchCandidate> candidates) {
  Joined joined;
  std::map<std::pair<std::string_view, int>, std::vector<std::size_t>> open;  // launches, ascending
  std::vector<std::size_t> launch_of(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const LaunchCandidate& c = candidates[i];
    std::size_t earliest = 0;
    for (int before : c.after) earliest = std::max(earliest, launch_of[static_cast<std::size_t>(before)] + 1);
    std::size_t launch = joined.launches.size();
    if (c.most > 1) {
      std::vector<std::size_t>& same = open[{c.text, c.shared_bytes}];
      const auto fits = std::find_if(std::ranges::lower_bound(same, earliest), same.end(),
                                     [&](std::size_t l) { return joined.has_room(l, c); });
      if (fits != same.end())
        launch = *fits;
      else
        same.push_back(launch);
    }
    if (launch == joined.launches.size()) joined.append();
    joined.add(launch, static_cast<int>(i), c);
    launch_of[i] = launch;
  }
  return joined;
}

}  // namespace

std::vector<std::vector<int>> join_launches(std::span<const LaunchCandidate> candidates) {
  std::vector<std::vector<int>> launches;
  for (const std::vector<int>& all : join_by_text(candidates).launches) {
    const auto most = static_cast<std::size_t>(candidates[static_cast<std::size_t>(all[0])].most);
    const std::size_t parts = (all.size() + most - 1) / most;  // as even as can be
    for (std::size_t part = 0; part < parts; ++part)
      launches.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(all.size() * part / parts),
                            all.begin() + static_cast<std::ptrdiff_t>(all.size() * (part + 1) / parts));
  }
  return launches;
}

}  // namespace sinter::runtime
