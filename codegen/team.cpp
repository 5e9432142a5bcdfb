#include "codegen/team.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "codegen/access.h"
#include "codegen/staging.h"

namespace sinter::codegen {
namespace {

constexpr int many_elements = 16;      // of a thread: they keep the memory busy; more only compile longer
constexpr int many_bytes = 64;         // of rows that are only read
constexpr int few_threads = 512;       // of a row whose elements take little room
constexpr int few_threads_bytes = 64;  // what each of those may hold
constexpr int few_loads = 8;           // that each makes

/// Bytes that a walk over the row loads for one element.
int loaded_bytes(const Kernel& k) {
  int most = 0;
  for (const Walk& w : stage(k, [](int) { return false; }).walks) {
    int bytes = 0;
    for (int v : w.values)
      if (const KernelValue& x = k.values[static_cast<std::size_t>(v)]; x.kind == KernelValue::Kind::load)
        bytes += size_of(x.dtype);
    most = std::max(most, bytes);
  }
  return most;
}

struct Kept {
  std::vector<int> values;
  int bytes = 0;  // per element of the row
};

/// Whether it is an elementwise function for which a GPU has one slow unit, in whatever form.
bool is_function(const KernelValue& v) {
  constexpr int least_flops = 10;  // dearer than a division or a root, which rows need once
  return v.kind == KernelValue::Kind::compute && ir::elementwise_info(v.op).flops >= least_flops;
}

/// Of a row's elements, what walks after the first read again: loads, or what is computed from them where
/// that takes no more room or spares a costly function. A short form is worth less of that room.
Kept choose_kept(const Kernel& k, int most_bytes, const std::vector<int>& joined = {}) {
  constexpr int least_flops = 8;
  std::vector<bool> keep(k.values.size());
  const auto bytes = [&](int v) { return size_of(k.values[static_cast<std::size_t>(v)].dtype); };
  // A walk that continues another finds its elements at hand.
  const auto kept_by = [&](const std::vector<bool>& marks) {
    Kept kept;
    const Staging staging = stage(
        k, [&](int v) { return static_cast<bool>(marks[static_cast<std::size_t>(v)]); }, joined);
    for (const Walk& w : staging.walks)
      for (int v : w.restored) {
        if (w.continues || std::ranges::find(kept.values, v) != kept.values.end()) continue;
        kept.values.push_back(v);
        kept.bytes += bytes(v);
      }
    return kept;
  };
  std::vector<int> times(k.values.size(), 0);
  const Staging staging = stage(
      k, [](int) { return false; }, joined);
  for (const Walk& w : staging.walks)
    if (!w.continues)
      for (int v : w.values) ++times[static_cast<std::size_t>(v)];
  for (std::size_t v = 0; v < keep.size(); ++v) keep[v] = k.values[v].kind == KernelValue::Kind::load;
  Kept best = kept_by(keep);
  for (std::size_t v = 0; v < keep.size(); ++v) {
    const bool costly = flops(k.values[v]) >= least_flops, joins = k.values[v].operands.size() > 1;
    const int room = costly ? most_bytes : is_function(k.values[v]) ? most_bytes * 3 / 8 : 0;
    if (times[v] < 2 || keep[v]) continue;
    keep[v] = true;
    Kept other = kept_by(keep);
    keep[v] = other.bytes < best.bytes || (joins && other.bytes == best.bytes) || other.bytes <= room;
    if (keep[v]) best = std::move(other);
  }
  return best;
}

/// Not more threads than those, nor much fewer, such that the fewest places for vectors are left empty.
int fewest_idle(std::int64_t vectors, int threads, const std::function<bool(int)>& fits) {
  const auto places = [&](int n) { return (vectors + n - 1) / n * n; };
  int best = threads;
  for (int n = threads - warp_threads; n >= std::max(threads / 2, warp_threads) && fits(n); n -= warp_threads)
    if (places(n) < places(best) && places(n) / n <= places(threads) / threads + 1) best = n;
  return best;
}

/// A team that takes a row of so many vectors at once.
Team whole_team(std::int64_t vectors, std::int64_t threads) {
  const std::int64_t chunks = (vectors + threads - 1) / threads;
  return {static_cast<int>(threads), static_cast<int>(chunks), true};
}

}  // namespace

std::int64_t whole_warps(std::int64_t threads) {
  return (threads + warp_threads - 1) / warp_threads * warp_threads;
}

int most_register_bytes(int threads) {
  return threads > 512 ? 128 : 256;
}

Team team_for(const RowVectors& by, int bytes, int largest, int tensors, bool only_read) {
  const ir::Dim& length = by.span;
  const int vector = by.elements;
  const Team looped{std::min(largest, 512)};
  if (!length.is_constant()) return looped;
  const std::int64_t vectors = std::max<std::int64_t>(1, (length.value() + vector - 1) / vector);
  const auto chunks_of = [&](int threads) { return (vectors + threads - 1) / threads; };
  const auto fits = [&](int threads) {
    return chunks_of(threads) * vector * bytes <= most_register_bytes(threads);
  };
  constexpr int least_block = 128;  // threads that a row has, if they have two vectors each
  // Nothing goes over the memory's wires while rows that are only read are folded, so more of them come at
  // once.
  const int elements = only_read ? std::max(many_elements, many_bytes / bytes) : many_elements;
  const int many_chunks = std::clamp(elements / (vector * tensors), tensors > 1 ? 1 : 2, 8);
  // A lane with two vectors has more to do between exchanges. More only if they are narrow.
  const int lane_vectors = vector >= 4 && !only_read ? 2 : 4;
  const bool within_warp = vectors <= std::int64_t{lane_vectors} * warp_threads && largest > warp_threads;
  const std::int64_t lanes = vectors < warp_threads / 2 ? vectors : (vectors + 1) / 2;
  const std::int64_t wanted =
      within_warp
          ? std::clamp<std::int64_t>(lanes, std::min(most_edges(by) + 1, warp_threads), warp_threads)
          : std::max<std::int64_t>(chunks_of(many_chunks), std::min<std::int64_t>(chunks_of(2), least_block));
  const auto most = static_cast<std::int64_t>(largest);
  int threads = static_cast<int>(std::min(
      most, within_warp ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)))
                        : whole_warps(wanted)));
  while (!fits(threads) && threads < largest) threads = std::min(2 * threads, largest);
  if (!fits(threads) && threads > 512) threads = 512;
  if (!fits(threads)) return looped;
  const int half = threads / 2;  // of the lanes, if many would have no second vector
  if (within_warp && by.skewed && half > most_edges(by) && fits(half) &&
      chunks_of(half) * half < chunks_of(threads) * threads)
    threads = half;
  return whole_team(vectors, within_warp ? threads : fewest_idle(vectors, threads, fits));
}

Team team_of_few(const Kernel& k, const RowVectors& by) {
  const ir::Dim length = by.span;
  const int vector = by.elements;
  if (!length.is_constant()) return {};
  const std::int64_t vectors = (length.value() + vector - 1) / vector;
  const std::int64_t chunks = (vectors + few_threads - 1) / few_threads;
  const int bytes = choose_kept(k, most_register_bytes(few_threads)).bytes;
  if (chunks * vector <= many_elements || chunks > few_loads || bytes == 0 ||
      chunks * vector * bytes > few_threads_bytes)
    return {};
  return whole_team(vectors, whole_warps((vectors + chunks - 1) / chunks));
}

int tensors_of_walk(const Kernel& k) {
  int most = 1;
  for (const Walk& w : stage(k, [](int) { return false; }).walks)
    most = std::max(most, static_cast<int>(std::ranges::count_if(w.values, [&](int v) {
                      return k.values[static_cast<std::size_t>(v)].kind == KernelValue::Kind::load &&
                             !is_same_for_rows(k, v);
                    })));
  return most;
}

int rows_of_block(const Team& team, int threads) {
  return team.threads <= warp_threads ? threads / team.threads : 1;
}

void take_in_vectors(std::vector<Factor>& along, int chunks, int threads, int vector) {
  along.push_back({Level::loop, chunks});
  if (threads > warp_threads) along.push_back({Level::warp, threads / warp_threads});
  along.push_back({Level::lane, std::min(threads, warp_threads)});
  if (vector > 1) along.push_back({Level::vector, vector});
}

std::int64_t piece_length(std::int64_t length, std::int64_t pieces, std::int64_t multiple_of) {
  const auto divided = [](std::int64_t n, std::int64_t by) { return (n + by - 1) / by; };
  return divided(divided(length, pieces), multiple_of) * multiple_of;
}

int pieces_for(std::int64_t length, std::int64_t wanted, std::int64_t multiple_of) {
  const std::int64_t piece = piece_length(length, wanted, multiple_of);
  return static_cast<int>((length + piece - 1) / piece);
}

int register_bytes(const Kernel& k) {
  return std::max({1, loaded_bytes(k), choose_kept(k, 0).bytes});
}

int state_bytes(const Kernel& k, const KernelValue& fold) {
  const int size = size_of(k.values[static_cast<std::size_t>(fold.operands[0])].dtype);
  const bool more = fold.finds_place() || fold.join.deviations;
  return more ? 2 * size + static_cast<int>(sizeof(std::int64_t)) : size;
}

std::int64_t exchanged_bytes(const Kernel& k, int copies) {
  constexpr int places = 2 * warp_threads;  // of as many warps, and of as many blocks, as there can be
  constexpr int barrier_bytes = 8;
  std::int64_t bytes = std::int64_t{barrier_bytes} * copies;
  for (const KernelValue& v : k.values)
    if (v.kind == KernelValue::Kind::reduce && !v.across) bytes += std::int64_t{places} * state_bytes(k, v);
  return bytes;
}

std::vector<Crossing> register_crossings(const Kernel& k, const Team& team, int vector,
                                         const std::vector<int>& joined) {
  std::vector<Crossing> crossings;
  if (!team.whole) return crossings;
  const int most = most_register_bytes(team.threads) / (team.chunks * vector);
  const Kept kept = choose_kept(k, most, joined);
  if (kept.bytes <= most)
    for (int v : kept.values) crossings.push_back({v, Residence::registers});
  return crossings;
}

std::vector<Crossing> shared_crossings(const Kernel& k, const std::vector<int>& joined) {
  std::vector<Crossing> crossings;
  for (int v : choose_kept(k, 0, joined).values)
    if (!is_same_for_rows(k, v)) crossings.push_back({v, Residence::shared});
  return crossings;
}

bool lies_in_shared_memory(const Schedule& s) {
  return s.block_threads > 1 &&
         std::ranges::any_of(s.crossings, [](const Crossing& c) { return c.residence == Residence::shared; });
}

std::int64_t part_of_block(std::int64_t row_length, int cluster) {
  constexpr std::int64_t multiple = 128;  // elements: no two blocks share a line of the cache
  if (cluster == 1) return row_length;
  return ((row_length + cluster - 1) / cluster + multiple - 1) / multiple * multiple;
}

}  // namespace sinter::codegen
