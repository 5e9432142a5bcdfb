// Which blocks share a row that lies in shared memory: one alone, a cluster, or blocks that take its pieces.
#pragma once

#include <optional>

#include "codegen/row_vectors.h"
#include "codegen/schedule.h"

namespace sinter::codegen {

constexpr int largest_registers_team = 512;  // of threads that hold a row
constexpr int few_blocks = 3;                // that share rows, of a multiprocessor; one more is many
constexpr int bytes_of_system = 1 << 10;     // shared memory that every block takes beside what it asks for

/// How many blocks that have so many bytes of shared memory each a multiprocessor has room for.
std::int64_t blocks_at_once(const DeviceDescription& device, std::int64_t block_bytes);

/// How a row is shared: by the blocks of a cluster, or by blocks that take its pieces as they start.
struct RowSharing {
  int cluster = 1, pieces = 1;
  int blocks() const { return cluster * pieces; }
};

/// Bytes of shared memory for one element of a row.
std::int64_t kept_bytes(const Kernel& kernel, const std::vector<Crossing>& crossings);

/// How rows whose `crossings` are kept are shared by blocks that have `room` bytes each: nothing where a row
/// has no room, or is better read again. A few rows are spread over more blocks.
std::optional<RowSharing> sharing_for(const Kernel& kernel, const DeviceDescription& device,
                                      const std::vector<Crossing>& crossings, std::int64_t room,
                                      const RowVectors& vectors);

}  // namespace sinter::codegen
