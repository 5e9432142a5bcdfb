// Teams of threads of a GPU that share a row: how many, and what of the row they keep in registers.
#pragma once

#include "codegen/row_vectors.h"
#include "codegen/schedule.h"

namespace sinter::codegen {

constexpr int warp_threads = 32;

struct Team {
  int threads = 512;
  int chunks = 4;      // vectors that a thread takes at once
  bool whole = false;  // they cover the row
};

/// The team for rows of that length, of which a thread takes vectors of so many tensors.
/// `whole` if what a thread takes, at `bytes` for an element, fits its registers. `only_read`: of rows no
/// element is stored.
Team team_for(const RowVectors& vectors, int bytes, int largest, int tensors = 1, bool only_read = false);

/// For rows that would need more than 512 threads: those, if each has room for its part, functions of it
/// included, in a few registers. `whole` if so.
Team team_of_few(const Kernel& kernel, const RowVectors& vectors);

/// How many tensors with rows of their own a walk loads at most, and at least 1.
int tensors_of_walk(const Kernel& kernel);

/// Rows that a block of so many threads has: several where teams are lanes of a warp, else one.
int rows_of_block(const Team& team, int threads = 128);

/// So many threads, and those that fill the last warp.
std::int64_t whole_warps(std::int64_t threads);

/// Divides a row's axis, or what is left of it, among the threads of a team: each takes `chunks` vectors at
/// once, side by side with the others'.
void take_in_vectors(std::vector<Factor>& along, int chunks, int threads, int vector);

/// Elements of each of so many pieces of a row that is split over blocks: a multiple of `multiple_of`. The
/// last piece may have fewer.
std::int64_t piece_length(std::int64_t length, std::int64_t pieces, std::int64_t multiple_of);

/// So many pieces as `wanted`, or a few less, so that none is empty.
int pieces_for(std::int64_t length, std::int64_t wanted, std::int64_t multiple_of);

/// Bytes of registers for what a thread holds of a row: half of all it can have, in a team of that size.
int most_register_bytes(int threads);

/// Bytes of registers that an element of a row takes at least: what one walk loads, or what is kept.
int register_bytes(const Kernel& kernel);

/// Bytes of what a fold along a row has found so far, at most: beside its result a place, or a sum and a
/// count.
int state_bytes(const Kernel& kernel, const KernelValue& fold);

/// What a block declares beside its rows, at most: for exchanges, and for so many copies at a time.
std::int64_t exchanged_bytes(const Kernel& kernel, int copies = 16);

/// What walks after the first read again of a row's elements and a thread's registers can hold: loads, or
/// what is computed from them where that takes no more room or spares a costly function. Nothing for a team
/// that does not cover the row.
std::vector<Crossing> register_crossings(const Kernel& kernel, const Team& team, int vector,
                                         const std::vector<int>& joined = {});

/// What of a row is worth a place in shared memory because several walks read it: what takes the least room,
/// and not what is the same for every row, which the caches have.
std::vector<Crossing> shared_crossings(const Kernel& kernel, const std::vector<int>& joined);

/// Whether blocks, or clusters of them, have rows in shared memory.
bool lies_in_shared_memory(const Schedule& schedule);

/// Elements of a row that each block of a cluster has, but for the last one, which may have fewer: all of it
/// in a cluster of one.
std::int64_t part_of_block(std::int64_t row_length, int cluster);

}  // namespace sinter::codegen
