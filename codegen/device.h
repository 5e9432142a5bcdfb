// What schedules need to know of a device. Descriptions of every architecture are built in, so that kernels
// can be scheduled and printed for devices that are not there.
#pragma once

#include <string>
#include <vector>

#include "codegen/target.h"

namespace sinter::codegen {

struct DeviceDescription {
  Target target;
  int vector_bytes = 16;           // of the widest load or store
  int warp = 32;                   // threads that exchange values by shuffles
  int block_threads = 1024;        // at most
  int processors = 1;              // streaming multiprocessors, or cores
  int shared_bytes_per_block = 0;  // at most, opted in
  int registers_per_processor = 0;
  int cluster_blocks = 1;     // blocks that can store to each other's shared memory, at most
  bool bulk_copies = false;   // from global to shared memory, past the threads
  bool early_starts = false;  // a kernel may start before the one before it has ended, and wait for it
  int outlasting_bytes = 0;   // of a last-level cache where loads should outlast stores; 0: nothing is known
};

/// The description of a target; of "compute_NN", which is PTX for newer GPUs than sm_NN, that of sm_NN.
/// Throws ValueError for an unknown architecture, naming the known ones.
const DeviceDescription& describe(const Target& target);

/// "sm_75", ..., "sm_121", as `--arch` takes them.
std::vector<std::string> known_architectures();

}  // namespace sinter::codegen
