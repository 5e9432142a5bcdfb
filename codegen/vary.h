// What the variants are made of that choosers offer beside the schedule that they choose untimed.
#pragma once

#include <algorithm>

#include "codegen/schedule.h"

namespace sinter::codegen {

constexpr int least_threads_varied = 64;  // of a block

/// The factor of a level that has a size, or null.
inline Factor* sized(std::vector<Factor>& along, Level level) {
  const auto at =
      std::ranges::find_if(along, [&](const Factor& f) { return f.level == level && f.size != 0; });
  return at == along.end() ? nullptr : &*at;
}

inline const Factor* sized(const std::vector<Factor>& along, Level level) {
  return sized(const_cast<std::vector<Factor>&>(along), level);
}

/// Whether a team takes an axis step by step, and not whole.
inline bool is_looped(const std::vector<Factor>& along) {
  return std::ranges::find(along, Factor{Level::loop}) != along.end();
}

}  // namespace sinter::codegen
