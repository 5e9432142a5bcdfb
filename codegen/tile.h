// The tile of a schedule whose blocks read tensors through shared memory: what it takes of each axis, in
// which order a tensor lies in it and in which order threads walk over it, and which banks they meet there.
#pragma once

#include "codegen/access.h"
#include "codegen/schedule.h"

namespace sinter::codegen {

/// One step of taking a number apart: the next `count` values of it, each of which is `step` elements further
/// along the axis.
struct Digit {
  int axis;
  std::int64_t count, step;
};

class TileShape {
 public:
  TileShape(const Kernel& kernel, const Schedule& schedule);

  /// The tile's axes: the one that neighbouring threads take, then the others from the innermost on.
  const std::vector<Span>& axes() const { return axes_; }
  std::int64_t size(int axis) const;  // 0 for an axis that is none of the tile's
  std::int64_t elements() const;
  /// The axes from the one along which a tensor at the address lies on.
  std::vector<Span> order(const Affine& address) const;
  /// Whether the axis is divided among blocks.
  bool is_split(int axis) const;

  /// What a thread takes at once: `vector` elements, along the first axis unless they are `flattened`, of
  /// `rows` neighbours along the axis `across`.
  int vector = 1, rows = 1, across = -1;
  bool flattened = false;
  /// How the number of such a unit is taken apart.
  std::vector<Digit> digits() const;
  std::int64_t units() const { return elements() / vector / rows; }

 private:
  const Kernel& k_;
  const Schedule& schedule_;
  std::vector<Span> axes_;
};

/// Elements of shared memory that a tile takes.
std::int64_t shared_elements(const TileShape& shape, const SharedTile& tile);

/// What of a tensor's tile a thread takes from shared memory at once, or leaves there: an element, its
/// vector, an element of each of its rows, or all of them.
enum class Reach : std::uint8_t { one, vector, rows, block };
Reach reach_of(const TileShape& shape, const SharedTile& tile, const Affine& address, int bytes);
/// The elements of one such access.
int reach_elements(const TileShape& shape, Reach reach);

/// Steps that the banks of shared memory take for what a warp accesses at once, where one is possible: the
/// worst over the accesses of one unit.
int bank_conflicts(const TileShape& shape, const SharedTile& tile, const Affine& address, int bytes);

}  // namespace sinter::codegen
