// Columns of the CUDA dialect: rows of a kernel that lie side by side in memory. Each lane takes a vector of
// neighbouring ones, so that every load is one wide stretch of memory, and holds a state for each; threads
// with the same lane number take elements in turn, and exchange what they fold by shuffles where they are in
// one warp, then through shared memory.
//
// The states of column k of a thread are element k of arrays: the state "fold" of reduction 5 is folds5[k],
// which goes by its name fold5 inside the loops over k.
#include <algorithm>

#include "codegen/batch.h"
#include "codegen/emit_cuda.h"
#include "codegen/team.h"
#include "ir/base/check.h"
#include "ir/scatter.h"

namespace sinter::codegen {
namespace {
constexpr int warp = warp_threads;
constexpr int terms_of_level = 64;
static_assert(terms_of_level == ir::segment_level);
}  // namespace

void CudaEmitter::print_columns(KernelSource& source) {
  std::int64_t pieces = 1;
  for (std::size_t i = 0; i < k_.axes.size(); ++i)
    for (const Factor& f : schedule_.axes[i]) {
      const bool across = f.level == Level::warp || f.level == Level::lane;
      if (across) (k_.axes[i].reduced ? team_ : lanes_) *= f.size;
      if (!k_.axes[i].reduced) continue;
      if (f.level == Level::loop && f.size == 0 && static_cast<int>(i) == reduced_axes_.back())
        whole_rows_ = false;
      if (f.level == Level::loop && f.size != 0) chunks_ = f.size;
      if (f.level == Level::grid) pieces = f.size;
    }
  if_live_ = "if (live) ";
  const ir::Dim tiles = pieces_of(k_.rows(), std::int64_t{lanes_} * vector_);
  source.units = tiles * ir::Dim(pieces);
  source.unit_elements = k_.row_length();
  row_length_ =
      reduced_axes_.size() == 1 ? body_.extent(reduced_axes_[0]) : body_.length(k_.row_length(), "n_row");
  walk_end_ = row_length_;
  const Staging staging = stage(k_, [&](int v) { return is_kept(v); });
  const std::string rows = body_.length(k_.rows(), "n_rows");
  if (pieces > 1) {
    place_piece(source, pieces, tiles, team_);
    declare_pieces(source, staging.walks.at(0).folds, tiles * ir::Dim(pieces * lanes_ * vector_), tiles);
  } else {
    lines_.add(fmt::format("const index tile = {};", block_number(schedule_)));
  }
  lines_.add(fmt::format("const int lane = (int)threadIdx.x % {0}, t = (int)threadIdx.x / {0};", lanes_));
  lines_.add(fmt::format("const index column = (tile * {} + lane) * {};", lanes_, vector_));
  lines_.add(fmt::format("const bool live = column < {};", rows));
  lines_.add(fmt::format("const index u = live ? column : {} - {};", rows, vector_));
  body_.decode("u", kept_axes_);
  if (const int axis = k_.segment_axis(); axis >= 0) {
    body_.segment(axis);
    walk_begin_ = "segment_begin";
    walk_end_ = "segment_end";
  }
  for (const Walk& w : staging.walks) {
    column_values(w.row_values);
    pin_restored(w);
    print_column_walk(w);
  }
  Walk last;
  last.values = staging.row_values;
  last.stores = staging.row_stores;
  if (last.stores.empty()) return;
  lines_.open("if (t == 0 && live) {");
  load_vectors(last, "");
  visit(last, "", [] {});
  lines_.close();
}

void CudaEmitter::open_columns() {
  lines_.add("#pragma unroll");
  lines_.open(fmt::format("for (int k = 0; k < {}; ++k) {{", vector_));
}

/// Names for the states of column k; a state that is read only may be written to without effect.
void CudaEmitter::name_states(const std::vector<int>& folds, const std::string& state) {
  for (const FoldPart& p : parts(folds))
    lines_.add(fmt::format("{0}& {1}{2} = {1}s{2}[k];", p.type, state, p.name));
}

void CudaEmitter::declare_states(const std::vector<int>& folds, const std::string& state) {
  if (folds.empty()) return;
  for (const FoldPart& p : parts(folds))
    lines_.add(fmt::format("{} {}s{}[{}];", p.type, state, p.name, vector_));
  reset_states(folds, state);
}

void CudaEmitter::reset_states(const std::vector<int>& folds, const std::string& state) {
  open_columns();
  for (const FoldPart& p : parts(folds)) lines_.add(fmt::format("{}s{}[k] = {};", state, p.name, p.identity));
  lines_.close();
}

void CudaEmitter::merge_states(const std::vector<int>& folds, const std::string& into,
                               const std::string& from) {
  if (folds.empty()) return;
  open_columns();
  name_states(folds, into);
  name_states(folds, from);
  for (int v : folds) merge(v, into, from);
  lines_.close();
}

/// Inside a loop over k: what a walk takes from its column.
void CudaEmitter::name_column_values(const Walk& w) {
  std::vector<int> needed;
  const auto need = [&](int v) {
    const bool here =
        std::ranges::find(w.values, v) != w.values.end() || in_row_[static_cast<std::size_t>(v)];
    if (!here && std::ranges::find(needed, v) == needed.end()) needed.push_back(v);
  };
  for (int v : w.values) for_each_operand(k_, v, need);
  for (int v : w.folds) need(value(v).operands[0]);
  for (int s : w.stores) need(k_.stores[static_cast<std::size_t>(s)].value);
  std::ranges::sort(needed);
  for (int v : needed) {
    const std::string held = value(v).kind == KernelValue::Kind::reduce
                                 ? fmt::format("folds{}{}", v, finds_place(v) ? "_at" : "")
                                 : fmt::format("column{}", v);
    lines_.add(fmt::format("const {} v{} = {}[k];", type_name(value(v).dtype), v, held));
    if (std::ranges::any_of(w.values, [&](int x) { return divides_row(x) && value(x).operands[1] == v; }))
      lines_.add(fmt::format("const divisor divisor{0} = divisor_of(v{0});", v));
  }
}

/// What is computed once for each column, for walks to come.
void CudaEmitter::column_values(const std::vector<int>& values) {
  if (values.empty()) return;
  for (int v : values) lines_.add(fmt::format("{} column{}[{}];", type_name(value(v).dtype), v, vector_));
  Walk w;
  w.values = values;
  lines_.open("{");
  load_vectors(w, "");
  visit(w, "", [&] {
    for (int v : values) lines_.add(fmt::format("column{0}[k] = v{0};", v));
  });
  lines_.close();
}

/// The elements that a thread takes at once; opens two blocks.
void CudaEmitter::open_column_chunk(Chunks order) {
  open_chunks(fmt::format("{} * c + t", team_), order);
  body_.decode("f", reduced_axes_);
}

/// Steps of a long column that a thread may sum before it needs another level; "part" is one step's.
std::vector<std::string> CudaEmitter::sum_levels() const {
  const ir::Dim& length = k_.row_length();
  const std::int64_t most = !pieces_.empty() ? piece_ : length.is_constant() ? length.value() : -1;
  const std::int64_t step = std::int64_t{team_} * chunks_;
  std::vector<std::string> levels{"part"};
  if (most < 0 || most > step * terms_of_level) levels.emplace_back("few");
  if (most < 0 || most > step * terms_of_level * terms_of_level) levels.emplace_back("many");
  levels.emplace_back("fold");
  return levels;
}

void CudaEmitter::print_column_walk(const Walk& w) {
  declare_states(w.folds, "fold");
  declare_kept(w, true);
  // Sums go by levels, so that none runs over more than a few hundred terms.
  std::vector<int> sums;
  if (!whole_rows_)
    std::ranges::copy_if(w.folds, std::back_inserter(sums), [&](int v) { return adds_rounded(v); });
  const std::vector<std::string> levels = sum_levels();
  lines_.open("{");
  for (std::size_t i = 1; i + 1 < levels.size(); ++i) declare_states(sums, levels[i]);
  if (!sums.empty() && levels.size() > 2) lines_.add("uint32 parts = 0;");
  if (!whole_rows_) {
    lines_.open(fmt::format("for (index begin = {}; begin < {}; begin += {}) {{", walk_begin_, walk_end_,
                            team_ * chunks_));
    declare_states(sums, "part");
  }
  std::vector<int> loads;
  for (int v : w.values) {
    if (load_access(v) == 0) continue;
    loads.push_back(v);
    if (std::ranges::find(w.kept, v) == w.kept.end())
      lines_.add(fmt::format("vec<{}, {}> x{}[{}];", stored_type_name(value(v).dtype), vector_, v, chunks_));
  }
  if (!loads.empty()) {
    open_column_chunk(Chunks::load);
    load_vectors(w, "[c]");
    lines_.close();
    lines_.close();
    join_chunks(loads);
  }
  open_column_chunk();
  visit(w, "[c]", [&] {
    for (int v : w.folds) {
      const std::string state = std::ranges::find(sums, v) != sums.end() ? "part" : "fold";
      name_states({v}, state);
      accumulate(v, state, "f");
    }
  });
  lines_.close();
  lines_.close();
  if (!sums.empty()) carry_columns(sums, levels);
  if (!whole_rows_) lines_.close();
  for (std::size_t i = 1; i + 1 < levels.size(); ++i) merge_states(sums, "fold", levels[i]);
  lines_.close();
  exchange(w.folds);
}

/// Adds what a thread has summed of one stretch of a long column to what it had.
void CudaEmitter::carry_columns(const std::vector<int>& sums, const std::vector<std::string>& levels) {
  merge_states(sums, levels[1], levels[0]);
  if (levels.size() > 2) lines_.add("++parts;");
  std::int64_t terms = 1;
  for (std::size_t i = 1; i + 1 < levels.size(); ++i) {
    terms *= terms_of_level;
    lines_.open(fmt::format("if (parts % {} == 0) {{", terms));
    merge_states(sums, levels[i + 1], levels[i]);
    reset_states(sums, levels[i]);
  }
  for (std::size_t i = 1; i + 1 < levels.size(); ++i) lines_.close();
}

/// Every thread of the block gets the results of its columns: by a butterfly over the lanes of a warp that
/// have the same ones, then through shared memory, where a thread joins what the warps have of one column.
void CudaEmitter::exchange_columns(const std::vector<int>& folds) {
  if (team_ <= 1 || folds.empty()) return;
  const std::vector<FoldPart> all = parts(folds);
  if (lanes_ < warp) {
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int half = {}; half >= {}; half /= 2) {{",
                            std::min(warp, team_ * lanes_) / 2, lanes_));
    open_columns();
    name_states(folds, "fold");
    for (const FoldPart& p : all)
      lines_.add(fmt::format("const {0} other{1} = shuffle_xor(fold{1}, half);", p.type, p.name));
    for (int v : folds) merge(v, "fold", "other");
    lines_.close();
    lines_.close();
  }
  const int group = std::max(lanes_, warp), groups = team_ * lanes_ / group, columns = lanes_ * vector_;
  if (groups <= 1) return;
  for (const FoldPart& p : all)
    lines_.add(fmt::format("__shared__ {} shared{}[{}];", p.stored, p.name, groups * columns));
  if (lanes_ < warp) lines_.open(fmt::format("if ((int)threadIdx.x % {} < {}) {{", warp, lanes_));
  open_columns();
  for (const FoldPart& p : all)
    lines_.add(fmt::format("shared{0}[((int)threadIdx.x / {1} * {2} + k) * {3} + lane] = folds{0}[k];",
                           p.name, group, vector_, lanes_));
  lines_.close();
  if (lanes_ < warp) lines_.close();
  lines_.add("sync_block();");
  lines_.open(fmt::format("for (int at = (int)threadIdx.x; at < {}; at += {}) {{", columns, team_ * lanes_));
  for (const FoldPart& p : all)
    lines_.add(
        fmt::format("{} fold{} = {};", p.type, p.name, from_stored(p, fmt::format("shared{}[at]", p.name))));
  lines_.add("#pragma unroll 4");  // more would take longer to compile than it saves
  lines_.open(fmt::format("for (int other = 1; other < {}; ++other) {{", groups));
  for (const FoldPart& p : all)
    lines_.add(fmt::format("const {} other{} = {};", p.type, p.name,
                           from_stored(p, fmt::format("shared{}[other * {} + at]", p.name, columns))));
  for (int v : folds) merge(v, "fold", "other");
  lines_.close();
  for (const FoldPart& p : all) lines_.add(fmt::format("shared{0}[at] = fold{0};", p.name));
  lines_.close();
  lines_.add("sync_block();");
  open_columns();
  for (const FoldPart& p : all)
    lines_.add(fmt::format("folds{}[k] = {};", p.name,
                           from_stored(p, fmt::format("shared{}[k * {} + lane]", p.name, lanes_))));
  lines_.close();
}

}  // namespace sinter::codegen
