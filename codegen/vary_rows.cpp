#include "codegen/vary_rows.h"

#include "codegen/team.h"

namespace sinter::codegen {

RowVariants::RowVariants(const Kernel& k, const DeviceDescription& device, const Schedule& chosen)
    : k_(k),
      chosen_(chosen),
      device_(device),
      inner_(k.innermost(true)),
      vectors_(row_vectors_of(k, inner_, chosen.vector, chosen.skewed)) {
  const auto size = [&](Level level) {
    const Factor* const factor = sized(chosen_row_axis(), level);
    return factor ? factor->size : 1;
  };
  team_ = size(Level::warp) * size(Level::lane);
  chunks_ = size(Level::loop);
}

void RowVariants::set_team(Schedule& s, int threads, int chunks) const {
  std::vector<Factor>& along = row_axis(s);
  std::erase_if(along, [](const Factor& f) {
    return (f.level == Level::loop && f.size != 0) || f.level == Level::warp || f.level == Level::lane ||
           f.level == Level::vector;
  });
  take_in_vectors(along, chunks, threads, s.vector);
}

void RowVariants::steps(int threads, int chunks) {
  constexpr int most_bytes = 256;  // of registers
  if (chunks < 1 || threads < 2 * warp_threads || threads % warp_threads != 0 ||
      chunks * chosen_.vector * register_bytes(k_) > most_bytes)
    return;
  Schedule s = chosen_;
  set_team(s, threads, chunks);
  s.block_threads = threads;
  add(std::move(s));
}

}  // namespace sinter::codegen
