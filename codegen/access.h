// How wide a tensor can be read or written along an axis.
#pragma once

#include <span>

#include "codegen/kernel.h"
#include "codegen/row_vectors.h"

namespace sinter::codegen {

/// Whether neighbouring elements along the axis are neighbours in memory, wherever the address is.
bool is_dense_along(const Kernel& kernel, const Affine& address, int axis);

/// Elements that one access of up to `bytes` bytes can move at an address that is dense along `axis`, where
/// accesses start at multiples of `step` elements, counted from those that `start` gives: the largest power
/// of two that divides the step, the buffer's alignment and every stride.
int access_elements(const Kernel& kernel, int buffer, const Affine& address, int axis, std::int64_t step,
                    int bytes, const Affine& start = {});

/// The same of what a value loads along the axis; 0 where its neighbours there are no neighbours in memory,
/// or where its guard or its place depends on the axis otherwise. `varies` says which values do.
int load_elements(const Kernel& kernel, int value, int axis, const std::vector<bool>& varies,
                  std::int64_t step, int bytes, const Affine& start = {});

/// What a load's guard and address need, in an order in which it can be computed.
std::vector<int> needed_by_load(const Kernel& kernel, int load);

/// Elements along the axis that a thread handles at once, so that the tensor that allows the most is moved
/// `bytes` bytes at a time: a power of two that divides the axis.
int vector_elements(const Kernel& kernel, int axis, int bytes);

/// The part of an axis that a tile takes.
struct Span {
  int axis;
  std::int64_t size;
};

/// Axes along which the tensor at an address lies without gaps, from the one of neighbouring elements on;
/// each goes on where the one before ends.
std::vector<int> axes_in_memory(const Kernel& kernel, const Affine& address);

/// Elements that lie without gaps where a tile is walked over in this order of its axes, the first one
/// fastest; 1 where the address is not of axes alone.
std::int64_t run_in_tile(const Kernel& kernel, const Affine& address, std::span<const Span> order);

/// Elements that one access of up to `bytes` bytes can move where a tile is walked over in this order of its
/// axes, the first one fastest, and begins at multiples of its own size: a power of two.
int access_in_tile(const Kernel& kernel, int buffer, const Affine& address, std::span<const Span> order,
                   int bytes);

/// Whether a load reads the same elements for every row of a kernel that folds axes.
bool is_same_for_rows(const Kernel& kernel, int value);

/// An address without what changes along a row: where the row begins.
Affine begin_of_row(const Kernel& kernel, Affine address);

/// Whether a bulk copy can bring the part of a row that the value loads, in vectors of the row or the tensor:
/// where that is one stretch of memory, and alignment allows it.
bool copies_in_bulk(const Kernel& kernel, int value, const RowVectors& vectors);

/// Divides the bytes of a bulk copy and where it starts.
constexpr int bulk_copy_bytes = 16;

/// Whether bulk copies can bring whole rows that begin and end anywhere, with the rest of the 16 bytes in
/// which they do. Of addresses that grow with every index, so that all of that lies in the tensor, but for
/// what follows the end of the last row.
bool copies_with_neighbours(const Kernel& kernel, int value);

/// Elements for which a copy of a whole row, with neighbours or without, needs room.
std::int64_t places_of_copy(const Kernel& kernel, int value);

}  // namespace sinter::codegen
