// Rows of the CUDA dialect. The threads of a team share a row: lanes of a warp, or a whole block. Each takes
// vectors of it in turn; what they fold, codegen/emit_cuda_folds.cpp exchanges. Values that later walks need
// again stay in registers where the schedule says so.
#include <algorithm>

#include "codegen/access.h"
#include "codegen/batch.h"
#include "codegen/emit_cuda.h"
#include "codegen/team.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {
constexpr int warp = warp_threads;
constexpr int terms_of_level = 64;
}  // namespace

bool CudaEmitter::is_kept(int v) const {
  return std::ranges::any_of(schedule_.crossings, [&](const Crossing& c) {
    return c.value == v && (c.residence == Residence::registers || c.residence == Residence::shared);
  });
}

/// What part of which row a thread has, where the block's first row is `first`. A block's last teams may have
/// no row: they compute another's once more, so as to take part in exchanges, and store nothing.
void CudaEmitter::place_thread(const std::string& first) {
  if (rows_ == 1) {
    lines_.add(fmt::format("const index u = {};", first));
    lines_.add("const int t = (int)threadIdx.x;");
    return;
  }
  const std::string rows = body_.length(k_.rows(), "n_rows");
  if_live_ = "if (live) ";
  lines_.add(fmt::format("const index place = {} + (index)(threadIdx.x / {});", first, team_));
  lines_.add(fmt::format("const bool live = place < {};", rows));
  lines_.add(fmt::format("const index u = live ? place : {} - 1;", rows));
  lines_.add(fmt::format("const int t = (int)threadIdx.x % {};", team_));
}

/// The indices of the row u, and what of memory it takes.
void CudaEmitter::place_row() {
  body_.decode("u", kept_axes_);
  if (schedule_.skewed) {
    place_vectors();
    walk_end_ = "full";
  }
  if (lies_in_lines()) place_in_line();
}

void CudaEmitter::print_rows(KernelSource& source) {
  std::int64_t pieces = 1;
  for (std::size_t i = 0; i < k_.axes.size(); ++i)
    for (const Factor& f : schedule_.axes[i]) {
      const bool across = f.level == Level::warp || f.level == Level::lane;
      if (f.level == Level::cluster) cluster_ = f.size;
      if (across && k_.axes[i].reduced) team_ *= f.size;
      if (f.level == Level::grid && k_.axes[i].reduced) pieces = f.size;
      if (f.level == Level::loop && static_cast<int>(i) == inner_) {
        if (f.size == 0) whole_rows_ = false;
        if (f.size != 0) chunks_ = f.size;
      }
    }
  rows_ = schedule_.block_threads / team_;
  const Staging staging = stage(
      k_, [&](int v) { return is_kept(v); }, schedule_.joined);
  const bool across = !staging.part_stores.empty();
  if (across) {
    const KernelStore& part = k_.stores[static_cast<std::size_t>(staging.part_stores[0])];
    parts_ = k_.buffers[static_cast<std::size_t>(part.buffer)].parts;
  }
  source.units = pieces_of(across ? parts_ : k_.rows(), rows_);
  source.unit_elements = k_.row_length();
  row_length_ =
      reduced_axes_.size() == 1 ? body_.extent(reduced_axes_[0]) : body_.length(k_.row_length(), "n_row");
  walk_end_ = row_length_;
  shared_rows_ = lies_in_shared_memory(schedule_);
  if (shared_rows_) sharers_ = std::max(cluster_, static_cast<int>(pieces));
  if (shared_rows_)
    place_block(source, staging);
  else if (across)
    open_rows(source, staging);
  else if (pieces > 1)
    place_split_rows(source, staging, pieces);
  else
    place_thread(rows_ == 1 ? std::string(block_number(schedule_))
                            : fmt::format("{} * {}", block_number(schedule_), rows_));
  if (!shared_rows_ && pieces == 1) place_row();
  if (across) await_row();
  if (schedule_.skewed) declare_edges(staging);
  if (schedule_.loads_ahead) load_first(staging);
  for (auto w = staging.walks.begin(); w != staging.walks.end(); ++w) {
    if (w->continues) continue;
    for (int v : w->row_values) declare_row_value(v);
    pin_restored(*w);
    const auto next = std::next(w);
    const Walk* const more = next != staging.walks.end() && next->continues ? &*next : nullptr;
    if (shared_rows_)
      print_shared_walk(*w, more);
    else
      print_walk(*w, more);
  }
  for (int v : staging.row_values) body_.declare(v);
  if (!staging.row_stores.empty()) {
    lines_.open(fmt::format("if (t == 0{}) {{", sharers_ > 1 ? " && rank == 0"
                                                : rows_ == 1 ? ""
                                                             : " && live"));
    for (int s : staging.row_stores) store(s);
    lines_.close();
  }
  if (across) close_rows(staging);
}

/// The thread's part of what later walks read, or of what only the one that continues this one does.
void CudaEmitter::declare_kept(const Walk& w, bool for_later) {
  for (int v : w.kept) {
    if (is_kept(v) != for_later || is_held(v)) continue;
    lines_.add(fmt::format("vec<{}, {}> {}{}[{}];",
                           load_access(v) != 0 ? stored_type_name(value(v).dtype) : type_name(value(v).dtype),
                           vector_, load_access(v) != 0 ? "x" : "r", v, chunks_));
  }
}

void CudaEmitter::pin_restored(const Walk& w) {
  constexpr int register_bytes = 4;
  for (int v : w.restored)
    if (!is_shared(v) && !is_held(v) && size_of(value(v).dtype) * vector_ >= register_bytes &&
        size_of(value(v).dtype) < register_bytes)
      lines_.add(fmt::format("pin({}{});", load_access(v) != 0 ? "x" : "r", v));
}

bool CudaEmitter::divides_row(int v) const {
  const KernelValue& x = value(v);
  return k_.has_reduction() && x.kind == KernelValue::Kind::compute && x.op == ir::Op::div &&
         (x.form == passes::MathForm::narrow || x.form == passes::MathForm::bounded) &&
         in_row_[static_cast<std::size_t>(v)] && !in_row_[static_cast<std::size_t>(x.operands[1])];
}

bool CudaEmitter::divides_exactly(const Walk& w, int v) const {
  const KernelValue& x = value(v);
  // Where a row stays in registers, the division's own short way costs no more.
  if (!shared_rows_ || vector_ == 1 || x.kind != KernelValue::Kind::compute || x.op != ir::Op::div ||
      x.dtype != DType::f32 || x.form != passes::MathForm::portable ||
      in_row_[static_cast<std::size_t>(x.operands[1])] || std::ranges::find(w.kept, v) != w.kept.end())
    return false;
  bool used = false;
  for (int u = v + 1; u < static_cast<int>(k_.values.size()); ++u)
    for_each_operand(k_, u, [&](int o) { used = used || o == v; });
  return !used && std::ranges::all_of(w.stores, [&](int s) {
    return k_.stores[static_cast<std::size_t>(s)].value != v || store_access(s) != 0;
  });
}

void CudaEmitter::declare_divisors(const Walk& w) {
  for (int v : w.values) {
    const int by = value(v).operands.size() == 2 ? value(v).operands[1] : -1;
    if (!divides_exactly(w, v) || std::ranges::find(exact_divisors_, by) != exact_divisors_.end()) continue;
    exact_divisors_.push_back(by);
    lines_.add(fmt::format("const exact_divisor exact{0} = exact_divisor_of(v{0});", by));
  }
  for (int v : w.values) {
    if (!divides_row(v) || std::ranges::find(divisors_, value(v).operands[1]) != divisors_.end()) continue;
    divisors_.push_back(value(v).operands[1]);
    const bool bounded = value(v).form == passes::MathForm::bounded;
    lines_.add(fmt::format("const {0} divisor{1} = {0}_of(v{1});", bounded ? "bounded_divisor" : "divisor",
                           divisors_.back()));
  }
}

/// Of the chunks of a row or column that a thread takes at once, so many lie in it for all of the team.
int CudaEmitter::chunks_within() const {
  if (!whole_rows_ || !k_.row_length().is_constant()) return 0;
  const int shorter = schedule_.skewed && by_.spare == 0 ? vector_ : 0;  // some rows have a vector less
  const std::int64_t least = schedule_.skewed ? by_.span.value() - shorter : k_.row_length().value();
  const std::int64_t step = lanes_ > 0 ? team_ : team_ * vector_;
  return static_cast<int>(std::min<std::int64_t>(least / step, chunks_));
}

/// Whether a thread that has no vector in its last chunk loads the last of the row, which it does not use: a
/// load that some leave out is made late, after what waits for others.
bool CudaEmitter::lends_last() const {
  return whole_rows_ && !shared_rows_ && chunks_within() < chunks_ && !k_.row_length().is(0);
}

/// Opens the loop over chunks, and what is done with one at its place f, if the thread has it.
void CudaEmitter::open_chunks(const std::string& place, Chunks order) {
  const int within = chunks_within();
  const bool all = within == chunks_, last = order == Chunks::load && lends_last();
  const std::string own = last ? "own" : "f";
  const std::string has =
      fmt::format("{}{} < {}", within > 0 ? fmt::format("c < {} || ", within) : "", own, walk_end_);
  lines_.add("#pragma unroll");
  lines_.open(order == Chunks::visit_back ? fmt::format("for (int c = {}; c >= 0; --c) {{", chunks_ - 1)
                                          : fmt::format("for (int c = 0; c < {}; ++c) {{", chunks_));
  lines_.add(fmt::format("const index {} = {}{};", own, whole_rows_ ? "" : "begin + ", place));
  if (last)
    lines_.add(fmt::format("const index f = {} ? own : {} - {};", has, walk_end_, lanes_ > 0 ? 1 : vector_));
  lines_.open(all || last ? "{" : fmt::format("if ({}) {{", has));
}

/// What is computed from the first chunks of loads waits for the last ones, which the compiler would else
/// make after it.
void CudaEmitter::join_chunks(const std::vector<int>& loads) {
  if (!lends_last() || chunks_ == 1) return;
  for (int v : loads) lines_.add(fmt::format("join_chunks(x{}, {});", v, row_length_));
}

/// The vectors that a thread takes at once; opens two blocks.
void CudaEmitter::open_chunk(Chunks order) {
  const std::string vector = vector_ > 1 ? fmt::format(" * {}", vector_) : "";
  if (shared_rows_) {
    lines_.add("#pragma unroll");
    lines_.open(fmt::format("for (int c = 0; c < {}; ++c) {{", chunks_));
    lines_.add(fmt::format("const int f = begin + ({} * c + t){};", team_, vector));
    lines_.open(lies_in_lines() ? "if (f >= skip && f < count) {" : "if (f < count) {");
    place_shared_element();
    return;
  }
  open_chunks(fmt::format("({} * c + t){}", team_, vector), order);
  if (schedule_.skewed) lines_.add("const index e = f + lead;");
  body_.decode(schedule_.skewed ? "e" : "f", reduced_axes_);
}

/// Whether the order of adding decides how far a fold is off.
bool CudaEmitter::adds_rounded(int v) const {
  return value(v).op == ir::Op::sum && is_float(folded(v));
}

/// Adds what a thread has folded of one stretch of a long row to what it had. Sums go by two levels in
/// between, so that none runs over more than a few hundred terms.
void CudaEmitter::add_part(const std::vector<int>& folds) {
  for (int v : folds) merge(v, adds_rounded(v) ? "few" : "fold", "part");
  const auto carry = [&](const std::string& from, const std::string& to) {
    for (int v : folds)
      if (adds_rounded(v)) {
        merge(v, to, from);
        for (const FoldPart& p : parts(v)) lines_.add(fmt::format("{}{} = {};", from, p.name, p.identity));
      }
  };
  if (std::ranges::none_of(folds, [&](int v) { return adds_rounded(v); })) return;
  lines_.add("++parts;");
  lines_.open(fmt::format("if (parts % {} == 0) {{", terms_of_level));
  carry("few", "many");
  lines_.open(fmt::format("if (parts % {} == 0) {{", terms_of_level * terms_of_level));
  carry("many", "fold");
  lines_.close();
  lines_.close();
}

/// What is loaded for the row, once its elements are on their way.
void CudaEmitter::ask_for_row(const Walk& w) {
  if (!whole_rows_ || !parts_.is(0)) return;
  for (int v : w.row_values)
    if (value(v).kind == KernelValue::Kind::load) lines_.add(fmt::format("ask_for(v{});", v));
}

bool CudaEmitter::is_read_late(int v) const {
  return k_.has_reduction() && lanes_ == 0 && whole_rows_ && !shared_rows_ && !is_held(v) && !is_kept(v) &&
         (is_same_for_rows(k_, v) || is_bulk(v));
}

/// Reads the thread's vectors of the row, for all walks that go over them.
void CudaEmitter::load_chunk(const std::vector<const Walk*>& walks) {
  std::vector<int> loads;
  for (const Walk* w : walks)
    for (int v : w->values) {
      if (load_access(v) == 0 || !is_read(v) || is_read_late(v) || is_ahead(v)) continue;
      loads.push_back(v);
      if (is_shared(v) || std::ranges::find(w->kept, v) == w->kept.end())
        lines_.add(
            fmt::format("vec<{}, {}> x{}[{}];", stored_type_name(value(v).dtype), vector_, v, chunks_));
    }
  if (loads.empty()) return;
  open_chunk(Chunks::load);
  for (const Walk* w : walks) load_vectors(*w, "[c]");
  lines_.close();
  lines_.close();
  join_chunks(loads);
}

/// The number of the element at hand in its row.
std::string CudaEmitter::place_in_row() const {
  return fmt::format("{}{}", has_start() || schedule_.skewed ? "e" : "f",
                     vector_ > 1 && !at_edge_ ? " + k" : "");
}

void CudaEmitter::print_walk(const Walk& w, const Walk* more) {
  std::vector<const Walk*> walks{&w};
  if (more != nullptr) walks.push_back(more);
  // Leaders and places are exact in any order, and go over the whole row. All others of a thread's elements
  // of a long row are folded on their own first: no sum runs over the whole row.
  std::vector<int> leaders, others;
  for (int v : w.folds) {
    declare_fold(v, "fold");
    if (!finds_place(v)) (followers(v).empty() || has_mean(v) ? others : leaders).push_back(v);
    if (!followers(v).empty()) declare_rescaling(v);
  }
  if (more != nullptr)
    std::ranges::copy_if(more->folds, std::back_inserter(others), [&](int v) { return !adds_deviations(v); });
  for (const Walk* each : walks) declare_kept(*each, true);
  declare_divisors(w);
  load_edge(walks);
  const bool sums = !whole_rows_ && std::ranges::any_of(others, [&](int v) { return adds_rounded(v); });
  lines_.open("{");
  if (sums) {
    lines_.add("uint32 parts = 0;");
    for (const char* level : {"few", "many"})
      for (int v : others)
        if (adds_rounded(v)) declare_fold(v, level);
  }
  if (!whole_rows_) {
    lines_.open(fmt::format("for (index begin = {}; begin < {}; begin += {}) {{", walk_begin_, walk_end_,
                            team_ * chunks_ * vector_));
    for (int v : others) declare_fold(v, "part");
    for (int v : leaders) lines_.add(fmt::format("const {0} before{1} = fold{1};", type_name(folded(v)), v));
  }
  for (const Walk* each : walks) declare_kept(*each, false);
  load_chunk(walks);
  ask_for_row(w);
  declare_extremes(w);
  open_chunk();
  load_vectors(w, "", true);
  const auto each = [&] {
    for (int v : w.folds) accumulate(v, running(v), place_in_row());
    fold_across(w);
  };
  visit(w, "[c]", each);
  lines_.close();
  lines_.close();
  find_places(w);
  const std::string first = whole_rows_ ? "" : fmt::format("begin == {}", walk_begin_);
  visit_edge(w, each, first);
  if (more != nullptr) print_continued(*more);
  if (!whole_rows_) {
    add_part(others);
    lines_.close();
  }
  if (sums)
    for (const char* level : {"few", "many"})
      for (int v : others)
        if (adds_rounded(v)) merge(v, "fold", level);
  lines_.close();
  exchange(w.folds);
}

std::string CudaEmitter::running(int v) const {
  const int leader = value(v).join.leader;
  const bool follows = std::ranges::find(schedule_.joined, v) != schedule_.joined.end();
  if (finds_place(v)) return "fold";
  if (has_mean(follows ? leader : v)) return whole_rows_ && !shared_rows_ ? "fold" : "part";
  if (whole_rows_ || shared_rows_) return "fold";
  return followers(v).empty() ? "part" : "fold";
}

/// The elements at hand once more, with what their thread has folded of the leaders so far as their results.
void CudaEmitter::print_continued(const Walk& more) {
  std::vector<int> leaders;
  for (int v : more.folds)
    if (std::ranges::find(leaders, value(v).join.leader) == leaders.end())
      leaders.push_back(value(v).join.leader);
  const std::vector<std::string> states =
      shared_rows_ ? std::vector<std::string>{"fold"} : std::vector<std::string>{"few", "many", "fold"};
  if (!whole_rows_)
    for (int v : leaders)
      if (!has_mean(v)) rescale(v, states, fmt::format("before{}", v), fmt::format("fold{}", v));
  const std::vector<int> divisors = divisors_;
  lines_.open("{");
  for (int v : leaders)
    lines_.add(has_mean(v) ? fmt::format("const auto center{0} = {1}{0}_t / {1}{0}_n;", v, running(v))
                           : fmt::format("const {0} v{1} = fold{1};", type_name(folded(v)), v));
  for (int v : more.row_values) body_.declare(v);
  declare_divisors(more);
  pin_restored(more);
  open_chunk();
  const auto each = [&] {
    for (int v : more.folds) accumulate(v, running(v), place_in_row());
  };
  visit(more, "[c]", each);
  lines_.close();
  lines_.close();
  const std::string begin = shared_rows_ ? "0" : walk_begin_;
  visit_edge(more, each, whole_rows_ && !shared_rows_ ? "" : fmt::format("begin == {}", begin));
  lines_.close();
  divisors_ = divisors;
}

}  // namespace sinter::codegen
