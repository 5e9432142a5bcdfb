// Kernels without reductions: every element by itself, the innermost axis in vectors as wide as each access
// allows. On the CPU a tensor along which memory runs across the innermost axis is read in tiles, so that the
// lines of memory that one row of a tile touches serve its other rows, too.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/schedule.h"

namespace sinter::codegen {
namespace {

/// The axis along which memory of a tensor runs that has gaps along the innermost one, or -1.
int axis_across(const Kernel& k) {
  const int innermost = static_cast<int>(k.axes.size()) - 1;
  for (const KernelValue& v : k.values) {
    if (v.kind != KernelValue::Kind::load) continue;
    const ir::Dim gap = v.address.factor(innermost);
    if (gap.is(0) || gap.is(1) || gap.is(-1)) continue;
    for (int axis = innermost - 1; axis >= 0; --axis)
      if (v.address.factor(axis).is(1) || v.address.factor(axis).is(-1)) return axis;
  }
  return -1;
}

/// Of one axis: any number of elements at once. Of more: the innermost in vectors, whole or in pieces where
/// it is long or of unknown length; a tile's rows in a loop.
std::vector<std::vector<Factor>> factors_on_cpu(const Kernel& k) {
  constexpr int piece = 8192;    // elements worth handing to a thread
  constexpr int tile_rows = 64;  // rows of a tile share lines of memory
  constexpr int tile_width =
      16;  // lines that stay in the first cache, even where they fall upon few of its sets
  std::vector<std::vector<Factor>> factors(k.axes.size(), {{Level::thread}});
  if (k.axes.empty()) return factors;
  if (k.axes.size() == 1) return {{{Level::thread}, {Level::vector}}};
  if (const int across = axis_across(k); across >= 0) {
    factors[static_cast<std::size_t>(across)].push_back({Level::loop, tile_rows});
    factors.back().push_back({Level::vector, tile_width});
    return factors;
  }
  const ir::Dim& length = k.axes.back().extent;
  const bool whole = length.is_constant() && length.value() <= piece;
  factors.back() = whole ? std::vector<Factor>{{Level::vector}}
                         : std::vector<Factor>{{Level::thread, piece}, {Level::vector}};
  return factors;
}

/// Where elements go one by one, a thread of a GPU takes several, a block apart, and a block a piece of a
/// row: which row that is gets worked out once for the block. 0 where rows are too short for that.
int piece_of_row(const Kernel& k, int threads) {
  constexpr int bytes_of_thread = 16;
  const ir::Dim& length = k.axes.back().extent;
  int widest = 1;
  for (const KernelBuffer& b : k.buffers) widest = std::max(widest, size_of(b.dtype));
  int piece = threads * std::max(2, bytes_of_thread / widest);
  if (!length.is_constant()) return 0;
  while (piece > threads && piece > length.value()) piece /= 2;
  return piece > threads ? piece : 0;
}

}  // namespace

std::optional<Schedule> choose_pointwise(const Kernel& k, const DeviceDescription& device, std::string& why) {
  if (k.has_reduction()) {
    why = "pointwise: the kernel folds an axis";
    return std::nullopt;
  }
  Schedule s;
  s.chooser = "pointwise";
  const bool cpu = device.target.backend == Backend::cpu;
  if (cpu) {
    s.axes = factors_on_cpu(k);
  } else {
    s.axes.assign(k.axes.size(), {{Level::grid}});
    s.block_threads = 256;
    if (!s.axes.empty()) {
      s.vector = vector_elements(k, static_cast<int>(k.axes.size()) - 1, device.vector_bytes);
      if (const int piece = s.vector == 1 ? piece_of_row(k, s.block_threads) : 0; piece > 0) {
        s.lead = static_cast<int>(k.axes.size()) - 1;
        s.axes.back().push_back({Level::block, piece});
        return s;
      }
      s.axes.back().push_back({Level::block, s.block_threads});
      if (s.vector > 1) s.axes.back().push_back({Level::vector, s.vector});
    }
  }
  return s;
}

}  // namespace sinter::codegen
