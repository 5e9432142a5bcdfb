// The printer of the CUDA C++ dialect; codegen/emit_cuda.cpp has kernels and what a thread does with its
// elements, codegen/emit_cuda_rows.cpp walks over rows, codegen/emit_cuda_shared.cpp those that lie in shared
// memory, codegen/emit_cuda_folds.cpp what they fold, codegen/emit_cuda_columns.cpp rows that lie side by
// side, codegen/emit_cuda_split.cpp those that several blocks share, codegen/emit_cuda_messages.cpp what such
// blocks tell each other, codegen/emit_cuda_across.cpp loops over rows that fold across them,
// codegen/emit_cuda_skewed.cpp those that begin anywhere in a vector, codegen/emit_cuda_places.cpp where the
// greatest and the least are.
#pragma once

#include <fmt/format.h>

#include "codegen/emit_body.h"
#include "codegen/row_vectors.h"
#include "codegen/team.h"

namespace sinter::codegen {

/// One variable of what a reduction carries along: the running value, or the place where it was found.
struct FoldPart {
  std::string name;    // "5", "5_at": in the state "fold" the variable is fold5, fold5_at
  std::string type;    // in registers
  std::string stored;  // in memory
  std::string identity;
};

/// What the names of the prelude's bulk copies of global memory end with under a schedule.
inline std::string_view copies_like(const Schedule& s) {
  return s.outlasting ? "_outlasting" : "";
}

/// A load of so many elements of global memory by accesses of `access`.
inline std::string load_of(const Schedule& s, int access, int elements, std::string_view place) {
  return fmt::format("load_vec{}<{}, {}>({}{})", s.outlasting ? "_outlasting" : "", access, elements, place,
                     s.outlasting ? ", policy" : "");
}

class CudaEmitter {
 public:
  CudaEmitter(const Kernel& kernel, const Schedule& schedule, const Target& target);
  KernelSource run();

 private:
  // emit_cuda.cpp
  void finish(KernelSource& source);
  void print_elements(KernelSource& source);
  void print_chunks(Walk all, const std::string& total);
  /// The elements of one vector, from the one whose indices are declared on: wide loads, the arithmetic
  /// element by element with `each` after it, wide stores. `at` selects the thread's vector of the row, as
  /// in "[c]".
  /// Returns what it has declared on the way.
  std::vector<int> load_vectors(const Walk& walk, const std::string& at, bool late = false);
  void visit(const Walk& walk, const std::string& at, const std::function<void()>& each);
  /// What holds a value of the element at hand: a place in a vector, or a variable for what is in none.
  std::string element_of(const Walk& walk, int value, const std::string& at) const;
  void declare_element(const Walk& walk, int value, const std::string& at);
  /// Opens the loop over a vector's elements, "k = 0; k < 8; ++k".
  void open_elements(std::string_view order);
  void store(int number, std::string_view condition = "");
  /// Elements of one access where a load or store moves the whole vector; 0 where elements go one by one.
  int load_access(int value) const;
  int store_access(int number) const;
  int neighbours_from(const std::vector<int>& stores, std::size_t first) const;
  void store_together(std::span<const int> stores);
  std::string stored_type(int store) const;
  /// The vector of a value in a walk: "x3[c]" as it was loaded, "r3[c]" as it was computed. What comes from
  /// shared memory or goes there is at hand for one vector at a time: "r3".
  std::string vector_of(const Walk& walk, int value, const std::string& at) const;

  // emit_cuda_tiles.cpp
  void print_tiles(KernelSource& source);

  // emit_cuda_rows.cpp
  void print_rows(KernelSource& source);
  void declare_kept(const Walk& walk, bool for_later);
  void pin_restored(const Walk& walk);
  void declare_divisors(const Walk& walk);
  void load_chunk(const std::vector<const Walk*>& walks);
  void ask_for_row(const Walk& walk);
  /// One walk, and the one that continues it, if any.
  void print_walk(const Walk& walk, const Walk* more);
  void print_continued(const Walk& more);
  bool adds_rounded(int v) const;
  void add_part(const std::vector<int>& folds);
  /// The state that a walk's elements go into.
  std::string running(int v) const;
  int chunks_within() const;
  bool lends_last() const;
  enum class Chunks : std::uint8_t { load, visit, visit_back };
  void open_chunks(const std::string& place, Chunks order);
  void join_chunks(const std::vector<int>& loads);
  void open_chunk(Chunks order = Chunks::visit);
  std::string place_in_row() const;
  void place_thread(const std::string& first);
  void place_row();

  // emit_cuda_skewed.cpp
  /// Of the row whose indices are declared: where its vectors begin, how many elements are in them, and how
  /// many are not.
  void place_vectors();
  /// The element that the thread has besides its vectors, if any: "edge < edges".
  void open_edge(std::string_view condition = "");
  void declare_edges(const Staging& staging);
  void load_edge(const std::vector<const Walk*>& walks);
  void visit_edge(const Walk& walk, const std::function<void()>& each, std::string_view condition = "");
  bool is_loaded_at_edge(int v) const;
  bool loads_shifted(int v) const;
  /// Whether such a load is best made word by word: of what is the same for all rows, and near. Beside rows
  /// in shared memory the nearest cache has little room.
  bool loads_words(int v) const;

  // emit_cuda_across.cpp
  /// A loop over the rows of a team, which carries along what is folded across them.
  void open_rows(KernelSource& source, const Staging& staging);
  void declare_carried(const Staging& staging);
  void load_held(const Staging& staging);
  void fetch_rows(KernelSource& source);
  void fetch_row(int value);
  void await_row();
  std::string slot_of(int value);
  std::string first_of_row(int value);
  int copy_step(int value) const;
  void declare_row_value(int v);
  void fold_across(const Walk& walk);
  void close_rows(const Staging& staging);
  void store_parts(const Staging& staging);
  /// Whether threads hold what the value loads through all rows.
  bool is_held(int v) const;
  /// Whether the value loads one number for each row, which is then read one row ahead.
  bool is_read_ahead(int v) const;

  // emit_cuda_places.cpp
  void declare_extremes(const Walk& walk);
  void find_places(const Walk& walk);

  // emit_cuda_shared.cpp
  bool lies_in_lines() const;
  bool has_start() const;
  void place_in_line();
  void place_block(KernelSource& source, const Staging& staging);
  /// Elements of a row that a block has room for.
  std::int64_t part_in_block() const;
  void declare_shared(KernelSource& source);
  void start_copies();
  void fetch_ahead();
  void load_first(const Staging& staging);
  void load_next(const Walk& walk);
  void load_ahead_at(const Walk& loads, const std::string& place);
  void print_shared_walk(const Walk& walk, const Walk* more);
  void place_shared_element();
  void restore_shared(const Walk& walk);
  void save_shared(const Walk& walk, const std::string& at);
  /// Elements of one access to a value's row in shared memory.
  int shared_access(int value) const;
  bool is_shared(int v) const;
  bool is_ahead(int v) const;
  bool is_bulk(int v) const;
  /// Whether the walk that has it among its values reads a vector of it for itself.
  bool is_read(int v) const { return !(is_bulk(v) && shared_rows_) && !is_held(v); }
  /// Whether a vector of it is read where it is used, not with all that a thread takes at once: the caches
  /// have what is the same for all rows, and registers are worth more rows on their way.
  bool is_read_late(int v) const;

  // emit_cuda_messages.cpp
  void take_piece(KernelSource& source, const Staging& staging);
  void exchange_messages(const std::vector<int>& folds);
  int message_words(const std::vector<int>& folds);

  // emit_cuda_folds.cpp
  bool finds_place(int v) const { return value(v).finds_place(); }
  DType folded(int v) const;
  /// The reductions that are folded along with this one.
  std::vector<int> followers(int v) const;
  /// What the states of a reduction are made of, its followers' included, and those of several one after the
  /// other.
  std::vector<FoldPart> parts(int v);
  std::vector<FoldPart> parts(const std::vector<int>& folds);
  static std::string from_stored(const FoldPart& part, const std::string& text);
  /// A state that holds nothing yet.
  void declare_fold(int v, const std::string& state);
  /// The element at hand joins a state; `place` is its number in the row.
  void accumulate(int v, const std::string& state, const std::string& place);
  /// A state joins another.
  void merge(int v, const std::string& into, const std::string& from);
  std::string combined(int v, const std::string& part, const std::string& a, const std::string& b) const;
  void join(int v, const std::string& state, const std::string& b, const std::string& b_at);
  // emit_cuda_joined.cpp
  bool adds_deviations(int v) const { return value(v).join.deviations; }
  bool has_mean(int leader) const;
  /// What the variables of a leader's own state are called, after its number: "" is the result.
  std::vector<std::string> own_parts(int v) const;
  void declare_pivot(int leader);
  void accumulate_distance(int v, const std::string& state);
  /// Functions that say how followers are rescaled.
  void declare_rescaling(int leader);
  std::string rescaling_exponent(int follower) const;
  int rescaling_of(int follower) const;
  std::vector<int> path(int leader, int row) const;
  bool depends_on(int v, int leader) const;
  /// What followers have added up under one value of the leader becomes what it is under another.
  void rescale(int leader, const std::vector<std::string>& states, const std::string& from,
               const std::string& to);
  void butterfly(int v, int from);
  void butterfly_alone(int v, int from);
  void exchange(const std::vector<int>& folds);
  void exchange_rows(const std::vector<int>& folds);
  void take_places(const std::vector<int>& folds, std::string_view arrays, int count);
  void gather_warps(const std::vector<int>& folds);
  void exchange_cluster(const std::vector<int>& folds);

  // emit_cuda_columns.cpp
  void print_columns(KernelSource& source);
  void column_values(const std::vector<int>& values);
  void name_column_values(const Walk& walk);
  void print_column_walk(const Walk& walk);
  void open_column_chunk(Chunks order = Chunks::visit);
  void open_columns();
  void name_states(const std::vector<int>& folds, const std::string& state);
  void declare_states(const std::vector<int>& folds, const std::string& state);
  void reset_states(const std::vector<int>& folds, const std::string& state);
  void merge_states(const std::vector<int>& folds, const std::string& into, const std::string& from);
  std::vector<std::string> sum_levels() const;
  void carry_columns(const std::vector<int>& sums, const std::vector<std::string>& levels);
  void exchange_columns(const std::vector<int>& folds);

  // emit_cuda_split.cpp
  void place_piece(KernelSource& source, std::int64_t pieces, const ir::Dim& tiles, int multiple_of);
  void place_split_rows(KernelSource& source, const Staging& staging, std::int64_t pieces);
  void declare_pieces(KernelSource& source, const std::vector<int>& folds, const ir::Dim& states,
                      const ir::Dim& counters);
  void exchange_pieces(const std::vector<int>& folds);
  std::string state_place(const std::string& piece) const;
  int stored_bytes(const FoldPart& p) const;

  const KernelValue& value(int v) const { return k_.values[static_cast<std::size_t>(v)]; }
  bool is_kept(int v) const;
  /// Whether a value is a quotient by one number for the whole row, whose reciprocal will do.
  bool divides_row(int v) const;
  /// The same of an exact quotient that does nothing but go to wide stores: then those of a vector are
  /// corrected together, in the rare case that one needs it.
  bool divides_exactly(const Walk& walk, int v) const;

  const Kernel& k_;
  const Schedule& schedule_;
  Target target_;
  Lines lines_;
  BodyPrinter body_;
  std::vector<int> kept_axes_, reduced_axes_;
  int inner_ = -1;        // the axis that vectors run along
  RowVectors by_;         // of rows
  bool at_edge_ = false;  // what is printed is for one element that is in no vector
  int vector_ = 1;        // elements of a vector
  // Of rows: threads that share one, rows of a block, vectors that a thread takes before the next loop.
  int team_ = 1, rows_ = 1, chunks_ = 1;
  ir::Dim parts_;           // of what is folded across rows: teams in all
  int lanes_ = 0;           // of columns: threads side by side, each with a vector of them; 0 for rows
  bool whole_rows_ = true;  // a row is no longer than what its threads take at once
  std::string row_length_;
  std::string walk_begin_ = "0", walk_end_;  // of a long row: the elements that the block takes
  std::string pieces_;                       // how many blocks share a row; empty for one
  std::int64_t piece_ = 0;                   // elements that each of those takes
  std::string if_live_;                      // what stores stand under
  std::vector<bool> in_row_;
  std::vector<bool> along_inner_;  // per value: whether it differs along that axis
  std::vector<int> divisors_;      // values whose reciprocals are declared
  std::vector<int> exact_divisors_;
  std::vector<int> extremes_;  // folds whose places are looked for after a thread's elements of a stretch
  // Of rows in shared memory: the blocks of one, which are a cluster, or tell each other by messages.
  bool shared_rows_ = false;
  int sharers_ = 1, cluster_ = 1;
  bool cluster_entered_ = false;  // the first exchange waits for all blocks to be there
  std::vector<int> awaited_;      // values whose copies have come
  std::vector<int> ahead_;        // loads of which a thread has asked for its next vectors
};

}  // namespace sinter::codegen
