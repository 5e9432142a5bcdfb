#include "codegen/fit_registers.h"

#include <algorithm>

#include "codegen/access.h"
#include "codegen/staging.h"
#include "codegen/team.h"
#include "codegen/vary.h"

namespace sinter::codegen {
namespace {

constexpr int register_size = 4;
constexpr int wide = 8;  // bytes of a value that takes two registers, and whose arithmetic is long

int bytes_of(const Kernel& k, int v) {
  return size_of(k.values[static_cast<std::size_t>(v)].dtype);
}

int registers_bytes_of(const Kernel& k, int v) {
  return std::max(register_size, bytes_of(k, v));
}

int instructions_of(const Kernel& k, int v) {
  constexpr int least_flops = 8, wide_division = 80, times_longer = 4;
  const KernelValue& x = k.values[static_cast<std::size_t>(v)];
  if (x.kind != KernelValue::Kind::compute) return 1;
  const int count = std::max(1, flops(x));
  if (x.operands.empty() || bytes_of(k, x.operands[0]) < wide) return count;
  const bool divides = x.op == ir::Op::div || x.op == ir::Op::floor_divide || x.op == ir::Op::remainder;
  return divides ? wide_division : count >= least_flops ? times_longer * count : 2 * count;
}

int instructions_of(const Kernel& k, const Walk& w) {
  int count = static_cast<int>(w.folds.size());
  for (int v : w.values) count += instructions_of(k, v);
  return count;
}

/// What a walk's values take for one element at most, in bytes of registers.
int live_bytes(const Kernel& k, const Walk& w) {
  std::vector<int> last(k.values.size(), -1);
  for (int v : w.values) for_each_operand(k, v, [&](int o) { last[static_cast<std::size_t>(o)] = v; });
  int live = 0, most = 0;
  for (int v : w.values) {
    live += registers_bytes_of(k, v);
    most = std::max(most, live);
    for (int o : w.values)
      if (last[static_cast<std::size_t>(o)] == v) live -= registers_bytes_of(k, o);
  }
  return most;
}

/// What a thread needs under a schedule.
class Need {
 public:
  Need(const Kernel& k, const Schedule& s) : k_(k), s_(s) {
    for (const std::vector<Factor>& along : s.axes)
      if (const Factor* const taken = sized(along, Level::loop)) chunks_ = taken->size;
    const auto keep = [&](int v) {
      return resides(v, Residence::registers) || resides(v, Residence::shared);
    };
    int loaded = 0, states = 0;
    const std::vector<Walk> all = walks(keep);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Walk& w = all[i];
      if (!w.continues) loaded = states = 0;
      loaded += loaded_bytes(w);
      states += state_bytes(w);
      int held = std::max(kept_bytes(all, i), kept_bytes(all, i + 1)) + loaded + states;
      for (int store : w.stores)
        held += bytes_of(k, k.stores[static_cast<std::size_t>(store)].value) * s.vector;
      for (int v : w.row_values) held += bytes_of(k, v) * (s.columns ? s.vector : 1);
      const int of_element = live_bytes(k, w), live = of_element * s.vector;
      const int instructions = codegen::instructions_of(k, w);
      held_ = std::max(held_, held + (is_pressed() ? of_element * std::min(s.vector, few_at_once) : live));
      if (instructions > few_instructions) of_vector_ = std::max(of_vector_, live);
      instructions_ += std::int64_t{instructions} * s.vector * chunks_;
      for (int v : w.values) has_wide_ = has_wide_ || bytes_of(k, v) >= wide;
    }
  }

  /// A compiler takes the elements of a vector side by side.
  bool vector_fits() const {
    const int most_bytes = k_.has_reduction() ? 160 : 320;
    return s_.vector == 1 || of_vector_ <= most_bytes;
  }

  bool fits(const DeviceDescription& device) const {
    if (!k_.has_reduction()) return true;
    return held_ <= room(device) * most_filled() && instructions_ <= most_unrolled;
  }

 private:
  static constexpr int few_instructions = 4;
  static constexpr int few_at_once = 2;  // of a vector's elements

  /// A compiler that must leave room for other blocks takes the elements of a row in registers one after the
  /// other, though not as strictly as it could.
  bool is_pressed() const { return s_.least_blocks > 1 && !s_.columns && !lies_in_shared_memory(s_); }

  /// What is in registers between two walks, before that of this number.
  int kept_bytes(const std::vector<Walk>& all, std::size_t before) const {
    int bytes = 0;
    for (const Crossing& c : s_.crossings) {
      const auto has = [&](const std::vector<int>& values) {
        return std::ranges::find(values, c.value) != values.end();
      };
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(before);
      if (c.residence == Residence::registers &&
          std::any_of(all.begin(), middle, [&](const Walk& w) { return has(w.values); }) &&
          std::any_of(middle, all.end(), [&](const Walk& w) { return has(w.restored); }))
        bytes += bytes_of(k_, c.value) * s_.vector * chunks_;
    }
    return bytes;
  }

  std::vector<Walk> walks(const std::function<bool(int)>& keep) const {
    if (k_.has_reduction()) return stage(k_, keep, s_.joined).walks;
    Walk all;
    for (std::size_t v = 0; v < k_.values.size(); ++v) all.values.push_back(static_cast<int>(v));
    return {std::move(all)};
  }

  bool resides(int v, Residence where) const {
    return std::ranges::find(s_.crossings, Crossing{v, where}) != s_.crossings.end();
  }

  /// Bytes are unpacked and converted long before their turn, as that takes long.
  static int taken_by(int bytes) { return bytes == 1 ? 2 * register_size : bytes; }

  int loaded_bytes(const Walk& w) const {
    int bytes = 0;
    for (int v : w.values) {
      const bool copied = std::ranges::find(s_.bulk_loads, v) != s_.bulk_loads.end();
      if (k_.values[static_cast<std::size_t>(v)].kind == KernelValue::Kind::load &&
          !resides(v, Residence::registers))
        bytes += taken_by(bytes_of(k_, v)) * s_.vector * (copied ? 1 : chunks_);
    }
    for (int v : w.restored)
      if (resides(v, Residence::shared)) bytes += bytes_of(k_, v) * s_.vector;
    return bytes;
  }

  int state_bytes(const Walk& w) const {
    int bytes = 0;
    for (int v : w.folds) {
      const KernelValue& x = k_.values[static_cast<std::size_t>(v)];
      const bool levels = x.op == ir::Op::sum && is_float(x.dtype);
      const int state = registers_bytes_of(k_, x.operands[0]) + (x.finds_place() ? wide : 0);
      bytes += state * (s_.columns ? s_.vector : 1) * (levels ? 2 : 1);
    }
    return bytes;
  }

  /// Bytes of the registers that a thread can have.
  int room(const DeviceDescription& device) const {
    // A multiprocessor has four schedulers with a fourth of the registers each, and a warp gets 8 at a time.
    constexpr int most_registers = 255, schedulers = 4, unit = 8;
    const int warps = (std::max(s_.block_threads, 1) + warp_threads - 1) / warp_threads;
    const int of_scheduler = (warps * std::max(s_.least_blocks, 1) + schedulers - 1) / schedulers;
    const int each = device.registers_per_processor / schedulers / warp_threads / of_scheduler;
    return register_size * std::min(most_registers, each / unit * unit);
  }

  /// How much of that may be filled by these values. Walks over rows in shared memory are no unrolled loops,
  /// and take one element of a vector after the other; those over columns also hold what they exchange.
  double most_filled() const {
    if (s_.columns) return 0.9;
    if (lies_in_shared_memory(s_))
      return has_wide_ ? 0.6 : s_.bulk_loads.size() == s_.crossings.size() ? 2.2 : 1.0;
    return 1.0;
  }

  const Kernel& k_;
  const Schedule& s_;
  int chunks_ = 1;
  int held_ = 0, of_vector_ = 0;  // bytes
  std::int64_t instructions_ = 0;
  bool has_wide_ = false;
};

/// Those that have the freedom to take less at once.
bool is_bounded(const Kernel& k, const Schedule& s) {
  if (!k.has_reduction()) return s.vector > 1 && s.tiles.empty() && s.lead < 0;
  return !k.folds_across() && k.segment_axis() < 0 && k.innermost(true) >= 0 && s.block_threads > 1;
}

std::vector<Factor>& row_axis(const Kernel& k, Schedule& s) {
  return s.axes[static_cast<std::size_t>(k.innermost(true))];
}

/// A row that is read anew by every walk, step by step.
bool read_again(const Kernel& k, Schedule& s) {
  std::vector<Factor>& along = row_axis(k, s);
  const bool whole_warps = s.columns || (sized(along, Level::warp) && s.block_threads > warp_threads);
  if (is_looped(along) || !whole_warps) return false;
  along.insert(along.begin(), {Level::loop});
  constexpr int most_threads = 512;
  if (Factor* const warps = sized(along, Level::warp); warps && s.block_threads > most_threads) {
    const int others = s.block_threads / warps->size;
    warps->size = most_threads / others;
    s.block_threads = warps->size * others;
  }
  s.least_blocks = 0;
  s.crossings.clear();
  s.joined = s.columns ? std::vector<int>{} : joinable(k, true);
  return true;
}

/// Changes one thing, so that a thread holds less; false where nothing is left to change.
bool lighten(const Kernel& k, Schedule& s) {
  if (s.least_blocks > 1 && !s.columns && !is_looped(row_axis(k, s))) {
    s.least_blocks = 0;
    return true;
  }
  if (read_again(k, s)) return true;
  std::vector<Factor>& along = row_axis(k, s);
  if (Factor* const chunks = sized(along, Level::loop); is_looped(along) && chunks && chunks->size > 1) {
    chunks->size /= 2;
    return true;
  }
  if (s.least_blocks > 1) {
    s.least_blocks = 0;
    return true;
  }
  return false;
}

}  // namespace

int instructions_of_element(const Kernel& k) {
  int count = 0;
  for (const Walk& w : stage(k, [](int) { return false; }).walks) count += instructions_of(k, w);
  return count;
}

bool fits_registers(const Kernel& k, const Schedule& s, const DeviceDescription& device) {
  if (!is_bounded(k, s) || k.fixed_fold_order) return true;
  const Need need(k, s);
  return need.vector_fits() && need.fits(device);
}

Schedule fit_registers(const Kernel& k, const DeviceDescription& device,
                       const std::function<Schedule(const DeviceDescription&)>& choose) {
  constexpr int least_bytes = 4;  // of an access
  DeviceDescription narrower = device;
  Schedule s = choose(device);
  if (!is_bounded(k, s) || k.fixed_fold_order) return s;
  for (;;) {
    if (Need(k, s).vector_fits()) {
      do
        if (Need(k, s).fits(device)) return s;
      while (lighten(k, s));
    }
    constexpr int least_vector = 2;
    if (s.vector <= least_vector || narrower.vector_bytes == least_bytes) return s;
    narrower.vector_bytes /= 2;
    s = choose(narrower);
  }
}

}  // namespace sinter::codegen
