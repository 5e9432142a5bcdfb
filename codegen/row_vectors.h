// The vectors in which rows are read and written. Where every row begins at a multiple of them they are the
// row's; where rows begin anywhere in memory, as those of 50257 elements do, they are the tensor's: those
// that lie in a row as a whole. The few elements before the first of them and after the last go one by one.
#pragma once

#include <optional>

#include "codegen/kernel.h"

namespace sinter::codegen {

struct RowVectors {
  int elements = 1;  // of one
  bool skewed = false;
  /// Skewed: so many elements of a row are in no vector, at least, since loads of two accesses reach beyond
  /// their vectors. All rows have as many vectors then; else, if 0, some have one less.
  int spare = 0;
  ir::Dim span;  // of a row's elements, those in vectors, at most
  /// Where in memory a row begins, if its first vector may be any of a line.
  std::optional<Affine> off_lines;

  /// From where in memory the vectors are counted.
  Affine start() const { return skewed ? *off_lines : Affine{}; }
};

/// Whether a load whose accesses begin at other places than the rows' vectors is made of two of them, which
/// together have the elements of a vector. The second may reach beyond that by less than a vector.
bool is_shifted(const Kernel& kernel, int buffer, const Affine& address, int inner,
                const RowVectors& vectors);

/// Those with the fewest accesses of up to `bytes` bytes for an element of the rows that lie along `inner`.
RowVectors row_vectors(const Kernel& kernel, int inner, int bytes);

/// Those of a schedule that has been chosen.
RowVectors row_vectors_of(const Kernel& kernel, int inner, int elements, bool skewed);

/// Elements of a row that are in no vector, at most.
int most_edges(const RowVectors& vectors);

/// Elements of a row that are in vectors, at least.
std::int64_t least_span(const RowVectors& vectors);

/// Vectors to a line of memory. Rows in shared memory lie in lines as in global memory, so that warps move
/// whole ones: of rows of 57,332 f32, 92 instead of 87 % of what a copy reaches.
constexpr int vectors_of_line = 8;

/// Places for elements that a row takes then.
std::int64_t places_in_lines(const RowVectors& vectors);

}  // namespace sinter::codegen
