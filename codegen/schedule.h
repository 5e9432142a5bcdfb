// How a kernel runs, as data: each axis factored over the levels of the device, and for what lives across a
// reduction where it lives. Choosers fill it from the kernel and the device; the emitter prints it as it
// stands; `explain` shows it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/device.h"
#include "codegen/kernel.h"

namespace sinter::codegen {

/// From the outermost to the innermost. On the CPU: thread, loop, vector.
enum class Level : std::uint8_t { grid, cluster, block, warp, lane, thread, loop, vector };

struct Factor {
  Level level;
  int size = 0;  // 0: whatever is left of the axis
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// Where a value that several walks over a row need lives in between.
enum class Residence : std::uint8_t { registers, shared, reload, recompute };

struct Crossing {
  int value;
  Residence residence;
  friend bool operator==(const Crossing&, const Crossing&) = default;
};

/// A tensor that lies along another axis than the one that neighbouring threads take: a block moves its tile
/// of it in the order in which it lies, and uses it from shared memory. On the CPU, where neighbouring
/// elements of a vector stand for neighbouring threads, a tile is turned into an array that the first cache
/// holds.
struct SharedTile {
  int load = -1, store = -1;     // the value that is loaded, or the number of the store
  int access = 1;                // elements that a thread moves at once
  int skew_every = 0, skew = 0;  // after so many elements of the tile so many places are left out
  friend bool operator==(const SharedTile&, const SharedTile&) = default;
};

struct Schedule {
  std::string chooser;  // "tiles", "pointwise", "short rows", "row", "team rows", "shared rows", ...
  std::vector<std::vector<Factor>> axes;  // per axis of the kernel, outermost factor first
  std::vector<Crossing> crossings;        // values kept; all others are recomputed from loads
  std::vector<SharedTile> tiles;          // all other loads and stores are direct
  std::vector<int> bulk_loads;            // these are brought to shared memory by copies that pass no thread
  int lead = -1;  // of blocks that take tiles or pieces: neighbouring threads' axis; -1: the innermost
  std::vector<int> joined;   // reductions folded along with their leaders; see merge_reductions.h
  int block_threads = 1;     // threads of a block that work together; 1 on the CPU
  int vector = 1;            // elements of the innermost axis that a thread handles at once
  bool columns = false;      // rows lie side by side, and vectors run along them
  bool skewed = false;       // rows begin anywhere in the vectors, which are the tensors'; see row_vectors.h
  bool fetch_ahead = false;  // walks over a cached row fetch the next row's memory meanwhile
  int rows_at_once = 1;      // of a team that walks over rows: bulk copies bring so many, one is in work
  int least_blocks = 0;      // that a multiprocessor must have room for; 0: the compiler decides
  int rows_ahead = 0;        // bulk copies also bring this later row nearer; 0: they do not
  bool loads_ahead = false;  // of shared rows: threads ask for what is the same for all rows a step ahead
  int batch = 1;             // instances of the kernel that one launch takes at most
  bool in_turn = false;      // they have as many blocks each, and take turns block by block
  bool wide_index = true;    // 64-bit index arithmetic
  bool outlasting = false;   // what is loaded leaves the last-level cache after what is stored

  /// "i0: grid; i1: loop, lane 256; v3 in shared memory"
  std::string str() const;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// A way to schedule kernels of one kind.
struct Chooser {
  std::string_view name;  // that its schedules have
  std::optional<Schedule> (*choose)(const Kernel& kernel, const DeviceDescription& device, std::string& why);
  /// Null where it offers nothing else.
  std::vector<Schedule> (*vary)(const Kernel& kernel, const DeviceDescription& device,
                                const Schedule& chosen) = nullptr;
};

/// Those of a device, in the order in which they are asked.
std::span<const Chooser> choosers_of(Backend backend);

/// The schedule of the first chooser that takes the kernel. `refusals`, if given, collects why the others did
/// not.
Schedule choose_schedule(const Kernel& kernel, const DeviceDescription& device,
                         std::vector<std::string>* refusals = nullptr);

/// True when every load and store stands still or goes from element to element along the axis.
bool runs_along(const Kernel& kernel, int axis);

/// The values that are worth keeping between walks over a row, with where they live.
std::vector<Crossing> costly_crossings(const Kernel& kernel, Residence residence);

/// Choosers: nothing, and the reason in `why`, for kernels that are not theirs.
std::optional<Schedule> choose_tiles(const Kernel& kernel, const DeviceDescription& device, std::string& why);
std::optional<Schedule> choose_segments(const Kernel& kernel, const DeviceDescription& device,
                                        std::string& why);
std::optional<Schedule> choose_pointwise(const Kernel& kernel, const DeviceDescription& device,
                                         std::string& why);
std::optional<Schedule> choose_short_rows(const Kernel& kernel, const DeviceDescription& device,
                                          std::string& why);
std::optional<Schedule> choose_row(const Kernel& kernel, const DeviceDescription& device, std::string& why);
std::optional<Schedule> choose_rows_across(const Kernel& kernel, const DeviceDescription& device,
                                           std::string& why);
std::optional<Schedule> choose_team_rows(const Kernel& kernel, const DeviceDescription& device,
                                         std::string& why);
std::optional<Schedule> choose_shared_rows(const Kernel& kernel, const DeviceDescription& device,
                                           std::string& why);
std::optional<Schedule> choose_split_rows(const Kernel& kernel, const DeviceDescription& device,
                                          std::string& why);
std::optional<Schedule> choose_team_columns(const Kernel& kernel, const DeviceDescription& device,
                                            std::string& why);
std::optional<Schedule> choose_column(const Kernel& kernel, const DeviceDescription& device,
                                      std::string& why);
std::optional<Schedule> choose_plain(const Kernel& kernel, const DeviceDescription& device, std::string& why);

/// What a chooser offers beside a schedule that it has chosen: others that are right for the kernel, and
/// differ in one thing that it can but estimate. What is most likely to be faster comes first. More than can
/// be timed may be among them, the chosen one, or blocks of more threads than the device can have.
std::vector<Schedule> vary_tiles(const Kernel& kernel, const DeviceDescription& device,
                                 const Schedule& chosen);
std::vector<Schedule> vary_pointwise(const Kernel& kernel, const DeviceDescription& device,
                                     const Schedule& chosen);
std::vector<Schedule> vary_rows_across(const Kernel& kernel, const DeviceDescription& device,
                                       const Schedule& chosen);
std::vector<Schedule> vary_team_rows(const Kernel& kernel, const DeviceDescription& device,
                                     const Schedule& chosen);
std::vector<Schedule> vary_shared_rows(const Kernel& kernel, const DeviceDescription& device,
                                       const Schedule& chosen);
std::vector<Schedule> vary_split_rows(const Kernel& kernel, const DeviceDescription& device,
                                      const Schedule& chosen);
std::vector<Schedule> vary_team_columns(const Kernel& kernel, const DeviceDescription& device,
                                        const Schedule& chosen);

/// As choose_shared_rows, also for rows that fit the registers of a few threads.
std::optional<Schedule> rows_in_shared_memory(const Kernel& kernel, const DeviceDescription& device);

}  // namespace sinter::codegen
