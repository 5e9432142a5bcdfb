#include "codegen/row_sharing.h"

#include <algorithm>

#include "codegen/access.h"
#include "codegen/staging.h"
#include "codegen/team.h"

namespace sinter::codegen {
namespace {

constexpr std::int64_t most_block_elements = 32768;  // of one block, if a cluster can share them
constexpr std::int64_t least_part_elements = 2048;   // of a block in a cluster
constexpr int portable_cluster = 8;
constexpr int comfortable_bytes = 72 << 10;  // three blocks to a multiprocessor
constexpr int crowded_bytes = 55 << 10;      // four

/// How many blocks that keep so much of a row each a multiprocessor runs: as many as have room, but not more
/// than their threads have registers for.
std::int64_t blocks_that_run(const DeviceDescription& device, std::int64_t part_bytes,
                             std::int64_t own_bytes) {
  return std::min<std::int64_t>(few_blocks + 1, blocks_at_once(device, part_bytes + own_bytes));
}

/// How many blocks share a row of whose elements copies bring all: such that three or four of them hold most
/// of a multiprocessor's memory; 0 where that is too small. A cluster lies in one group of multiprocessors,
/// and what no whole one has room in stays idle.
int blocks_that_hold_most(const DeviceDescription& device, std::int64_t length, std::int64_t bytes,
                          std::int64_t own_bytes, int most, bool clusters) {
  constexpr std::int64_t group_processors = 16;
  int best = 0, least = most;
  std::int64_t best_bytes = 0;
  for (int blocks = 2; blocks <= std::min(most, 2 * least); ++blocks) {
    const std::int64_t part = part_of_block(length, blocks) * bytes;
    const std::int64_t at_once = blocks_that_run(device, part, own_bytes);
    if (at_once < few_blocks) continue;
    least = std::min(least, blocks);
    const std::int64_t room = group_processors * at_once, used = clusters ? room / blocks * blocks : room;
    // An exchange of fewer is shorter; by messages it takes so long that others should run meanwhile.
    const std::int64_t enough = clusters ? best_bytes + best_bytes / 32 : best_bytes - best_bytes / 64;
    if (best != 0 && used * part < enough) continue;
    best = blocks;
    best_bytes = used * part;
  }
  return best;
}

/// How many blocks share a row beside which threads make shifted loads of 16 bits: four to a multiprocessor
/// if these hold nearly as much of rows as others would, else those that hold most; one that holds it all
/// needs no exchange.
int blocks_beside_shifted(const DeviceDescription& device, std::int64_t length, std::int64_t bytes,
                          std::int64_t own_bytes, int most) {
  const auto part = [&](int blocks) { return part_of_block(length, blocks) * bytes; };
  const auto at_once = [&](int blocks) { return blocks_that_run(device, part(blocks), own_bytes); };
  const auto held = [&](int blocks) { return at_once(blocks) * part(blocks); };
  int best = 1;
  for (int blocks = 2; blocks <= most; ++blocks)
    if (held(blocks) > held(best)) best = blocks;
  const auto nearly = [&](int blocks) { return 10 * held(blocks) >= 9 * held(best); };
  if (at_once(1) > 1 && nearly(1)) return 1;
  for (int blocks = 2; blocks <= most; ++blocks)
    if (at_once(blocks) > few_blocks && nearly(blocks)) return blocks;
  return best;
}

/// The number of pieces of a row; 0 where it has no room. Rather such that threads all have as much to do
/// than as many as would be best else, if that is known.
int pieces_of_row(std::int64_t length, std::int64_t bytes, std::int64_t room, std::int64_t step, int best,
                  bool crowded) {
  constexpr std::int64_t most = warp_threads;  // as many as a warp has lanes for messages
  const auto fitting = [&](std::int64_t part_bytes) {
    std::int64_t pieces = std::max<std::int64_t>(2, (length * bytes + part_bytes - 1) / part_bytes);
    while (pieces <= most && part_of_block(length, static_cast<int>(pieces)) * bytes > part_bytes) ++pieces;
    return pieces;
  };
  std::int64_t least = fitting(std::min<std::int64_t>(crowded ? crowded_bytes : comfortable_bytes, room / 2));
  if (least > most) least = fitting(std::min<std::int64_t>(comfortable_bytes, room / 2));
  if (least > most) least = fitting(room);
  if (least > most) return 0;
  for (std::int64_t pieces = least; pieces <= std::min(most, least + least / 4); ++pieces)
    if (length % (pieces * step) == 0) return static_cast<int>(pieces);
  return best != 0 ? best : static_cast<int>(least);
}

/// How many loads of a row's elements there are of what is not kept.
int other_loads(const Kernel& k, const std::vector<Crossing>& crossings) {
  const std::vector<bool> in_row = k.varies_in_row();
  int others = 0;
  for (std::size_t v = 0; v < k.values.size(); ++v)
    others += k.values[v].kind == KernelValue::Kind::load && in_row[v] &&
              std::ranges::find(crossings, static_cast<int>(v), &Crossing::value) == crossings.end();
  return others;
}

/// Whether copies bring all that is kept.
bool is_copied(const Kernel& k, const DeviceDescription& device, const std::vector<Crossing>& crossings,
               const RowVectors& vectors) {
  return device.bulk_copies && std::ranges::all_of(crossings, [&](const Crossing& c) {
           return copies_in_bulk(k, c.value, vectors);
         });
}

/// Whether blocks that tell each other by messages are faster than a cluster of 8. An exchange takes longer,
/// but it is one where the cluster may need two; and where threads load nothing but what copies have brought,
/// nothing else is late.
bool messages_do(const Kernel& k, const DeviceDescription& device, const std::vector<Crossing>& crossings,
                 const RowVectors& vectors) {
  return is_copied(k, device, crossings, vectors) &&
         (other_loads(k, crossings) == 0 || joinable(k, true).size() > joinable(k).size());
}

}  // namespace

std::int64_t blocks_at_once(const DeviceDescription& device, std::int64_t block_bytes) {
  return (device.shared_bytes_per_block + bytes_of_system) / (block_bytes + bytes_of_system);
}

std::int64_t kept_bytes(const Kernel& k, const std::vector<Crossing>& crossings) {
  std::int64_t bytes = 0;
  for (const Crossing& c : crossings) bytes += size_of(k.values[static_cast<std::size_t>(c.value)].dtype);
  return bytes;
}

std::optional<RowSharing> sharing_for(const Kernel& k, const DeviceDescription& device,
                                      const std::vector<Crossing>& crossings, std::int64_t room,
                                      const RowVectors& vectors) {
  const std::int64_t bytes = kept_bytes(k, crossings);
  const std::int64_t length = places_in_lines(vectors);
  const ir::Dim rows = k.rows();
  const auto part_bytes = [&](int blocks) { return part_of_block(length, blocks) * bytes; };
  const auto spread = [&](int blocks, int most) {
    while (rows.is_constant() && 2 * blocks * rows.value() <= device.processors && 2 * blocks <= most &&
           length / (std::int64_t{2} * blocks) >= least_part_elements)
      blocks *= 2;
    // None is left without any of a row.
    while (blocks > 1 && part_of_block(length, blocks) * (blocks - 1) >= least_span(vectors)) --blocks;
    return blocks;
  };
  int cluster = 1;
  // One block to a multiprocessor is worth it only if it has more to do than what copies bring.
  const int others = other_loads(k, crossings);
  const bool copied = is_copied(k, device, crossings, vectors), only_copied = copied && others == 0;
  const bool two_fit = part_bytes(1) <= room / 2 - bytes_of_system;
  const bool one_does = copied && (two_fit ? others < 2 : others == 0)
                            ? two_fit
                            : length <= most_block_elements && part_bytes(1) <= room;
  // Loads of two accesses each take more threads to keep the memory busy.
  const bool shifted = vectors.spare > 0, crowded = shifted && bytes >= 4;
  const std::int64_t own = device.shared_bytes_per_block - room;
  const int most_blocks = std::min(portable_cluster, device.cluster_blocks);
  const auto holding_most = [&](int most, bool clusters) {
    return only_copied ? blocks_that_hold_most(device, length, bytes, own, most, clusters) : 0;
  };
  const int holds_most = one_does ? 0 : holding_most(most_blocks, true);
  if (holds_most != 0) {
    cluster = holds_most;
  } else if (!one_does && shifted && !crowded) {
    cluster = blocks_beside_shifted(device, length, bytes, own, most_blocks);
  } else if (!one_does) {
    while (cluster < device.cluster_blocks && part_bytes(cluster) > comfortable_bytes)
      cluster += cluster < portable_cluster ? 1 : cluster;
    if (shifted)
      for (int more = cluster; more <= portable_cluster && more <= device.cluster_blocks; ++more)
        if (part_bytes(more) <= crowded_bytes) {
          cluster = more;
          break;
        }
  }
  const bool fits = part_bytes(cluster) <= room;
  // Large clusters leave processors idle. A shorter row is read again from the second cache.
  const std::int64_t least_bytes = (only_copied ? 352 : 384) << 10;
  const int largest = !shifted && messages_do(k, device, crossings, vectors) ? 4 : 8;
  const bool comfortable = fits && (cluster == 1 || holds_most != 0 ||
                                    part_bytes(cluster) <= (crowded ? crowded_bytes : comfortable_bytes));
  if (length * bytes >= least_bytes && (cluster > largest || !comfortable)) {
    const int least =
        pieces_of_row(length, bytes, room, std::int64_t{largest_registers_team} * vectors.elements,
                      holding_most(warp_threads, false), crowded);
    const int pieces = least == 0 ? 0 : spread(least, warp_threads);
    const bool busy = !rows.is_constant() || 2 * pieces * rows.value() >= device.processors;
    if (pieces != 0 && (busy || fits)) return RowSharing{1, pieces};
  }
  if (!fits) return std::nullopt;
  return RowSharing{spread(cluster, device.cluster_blocks), 1};
}

}  // namespace sinter::codegen
