// Folds of the C++ dialect. 32 running values ("lanes") take the elements of a block of 1024 in turn and are
// then folded by halves; the blocks' results are folded pairwise as in a binary counter. The order depends on
// nothing but the number of elements, so eager and fused, whole and split rows, rows and tiles give the same
// bits.
#include <algorithm>

#include "codegen/emit_cpp.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {
constexpr int lanes = 32;
constexpr int fold_block = 1024;
constexpr int tree_height = 34;  // of 2^44 elements in blocks, more than any memory or view of it holds
}  // namespace

/// max and min of f32 run on whole numbers in the same order as the floats: one instruction to fold two of
/// them, where floats with NaN and signed zeros need a chain of comparisons and selections. Their places do
/// not: both zeros are equal to them.
bool CppEmitter::folds_keys(int v) const {
  const ir::Identity identity = ir::reduction_info(value(v).op).identity;
  const bool extreme = identity == ir::Identity::lowest || identity == ir::Identity::highest;
  return extreme && !finds_place(v) && value(value(v).operands[0]).dtype == DType::f32;
}

std::string CppEmitter::to_running(int v, const std::string& text) const {
  if (!folds_keys(v)) return text;
  const bool greatest = ir::reduction_info(value(v).op).identity == ir::Identity::lowest;
  return fmt::format("{}({})", greatest ? "key_of_greatest" : "key_of_least", text);
}

std::string CppEmitter::from_running(int v, const std::string& text) const {
  return folds_keys(v) ? fmt::format("f32_of_key({})", text) : text;
}

void CppEmitter::combine(int v, const Running& a, const Running& b, bool b_is_earlier) {
  const ir::ReductionInfo& info = ir::reduction_info(value(v).op);
  const DType t = running_dtype(v);
  const std::string left = BodyPrinter::from_stored(a.value, t), right = BodyPrinter::from_stored(b.value, t);
  if (!finds_place(v)) {
    const std::vector<std::string> operands =
        b_is_earlier ? std::vector{right, left} : std::vector{left, right};
    lines_.add(fmt::format("{} = {};", a.value, BodyPrinter::apply(info.combine, t, operands)));
    return;
  }
  lines_.add(fmt::format("const bool take{} = {}_wins({}, {}, {}, {});", v, name(value(v).op), right, b.place,
                         left, a.place));
  lines_.add(fmt::format("{} = take{} ? {} : {};", a.value, v, b.value, a.value));
  lines_.add(fmt::format("{} = take{} ? {} : {};", a.place, v, b.place, a.place));
}

/// Lanes start from the place of their first element with the least value there is, so an element that comes
/// after all others of its lane is taken only where it is beyond them.
void CppEmitter::append(int v, const Running& lane, const Running& element) {
  if (!finds_place(v)) return combine(v, lane, element, false);
  const DType t = running_dtype(v);
  lines_.add(fmt::format("const bool take{} = {}_exceeds({}, {});", v, name(value(v).op),
                         BodyPrinter::from_stored(element.value, t),
                         BodyPrinter::from_stored(lane.value, t)));
  lines_.add(fmt::format("{} = take{} ? {} : {};", lane.value, v, element.value, lane.value));
  lines_.add(fmt::format("{} = take{} ? {} : {};", lane.place, v, element.place, lane.place));
}

void CppEmitter::declare_running(const Walk& w, std::size_t number) {
  auto declare = [&](const std::string& type, const std::string& name) {
    lines_.add(fmt::format("alignas(64) {} lane{}[{}]{}, tree{}[{}]{};", type, name, lanes, tile(), name,
                           tree_height, tile()));
  };
  for (int v : w.folds) {
    declare(fold_type(v), fmt::format("{}", v));
    if (finds_place(v)) declare("index", fmt::format("{}_at", v));
  }
  lines_.add(fmt::format("int height{} = 0;", number));
}

void CppEmitter::fold(const Walk& w, std::size_t number) {
  declare_running(w, number);
  if (tile_ == 1 && reduced_.size() == 1) {
    lines_.open(
        fmt::format("const auto visit{} = [&](index f, int lane) __attribute__((always_inline)) {{", number));
    body_.decode("f", reduced_);
    visit(w);
    accumulate(w, "[lane]");
    lines_.close("};");
  }
  if (tile_ == 1 && reduced_.size() != 1)
    for (int v : w.folds) lines_.add(fmt::format("alignas(64) {} block{}[{}];", fold_type(v), v, fold_block));
  lines_.open(fmt::format("for (index first = row_begin; first < row_end; first += {}) {{", fold_block));
  lines_.add(
      fmt::format("const int length = row_end - first < {0} ? (int)(row_end - first) : {0};", fold_block));
  lines_.add(fmt::format("const int used = length < {0} ? length : {0};", lanes));
  lines_.open("for (int l = 0; l < used; ++l) {");
  open_columns();
  for (int v : w.folds) {
    lines_.add(fmt::format("lane{}[l]{} = {};", v, column(), to_running(v, body_.identity(v))));
    if (finds_place(v)) lines_.add(fmt::format("lane{}_at[l]{} = first + l;", v, column()));
  }
  close_columns();
  lines_.close();
  if (tile_ > 1)
    visit_columns(w);
  else
    visit_block(w, number);
  fold_lanes(w);
  push(w, number, fmt::format("(first - row_begin) / {}", fold_block));
  lines_.close();
}

/// Elements of one block along a row: 32 at a time, each into its lane.
void CppEmitter::visit_block(const Walk& w, std::size_t number) {
  if (reduced_.size() == 1) {
    lines_.add("int done = 0;");
    lines_.open(fmt::format("for (; done + {} <= length; done += {}) {{", lanes, lanes));
    fetch_ahead(number);
    lines_.add("#pragma omp simd");
    lines_.add(fmt::format("for (int l = 0; l < {}; ++l) visit{}(first + done + l, l);", lanes, number));
    lines_.close();
    lines_.add(fmt::format("for (int l = 0; l < length - done; ++l) visit{}(first + done + l, l);", number));
    return;
  }
  // Several folded axes: the block's elements are computed in runs along the innermost, then dealt to the
  // lanes.
  visit_runs(w);
  const auto deal = [&](const std::string& count) {
    lines_.add("#pragma omp simd");
    lines_.open(fmt::format("for (int lane = 0; lane < {}; ++lane) {{", count));
    for (int v : w.folds)
      append(v, {fmt::format("lane{}[lane]", v), fmt::format("lane{}_at[lane]", v)},
             {fmt::format("block{}[from + lane]", v), "first + from + lane"});
    lines_.close();
  };
  lines_.add("index from = 0;");  // an int may wrap within a vector
  lines_.open(fmt::format("for (; from + {0} <= length; from += {0}) {{", lanes));
  deal(fmt::format("{}", lanes));
  lines_.close();
  deal("length - from");
}

/// In a walk over what is in the cache already: the memory that comes next, so that it is on its way while
/// this walk computes. That is the same place of the next row, and the place that the row's results go to.
void CppEmitter::fetch_ahead(std::size_t number) {
  if (!schedule_.fetch_ahead || number == 0) return;
  const int along = reduced_.back(), across = kept_.back();
  auto fetch = [&](int buffer, const Affine& address, const std::string& where, bool write) {
    if (!address.factor(along).is(1) || address.factor(across).is(0)) return;
    const std::string next =
        write ? "" : " + " + body_.length(address.factor(across), fmt::format("{}_s{}", where, across));
    constexpr int line = 64;
    for (int offset = 0; offset < lanes;
         offset += line / size_of(k_.buffers[static_cast<std::size_t>(buffer)].dtype))
      lines_.add(fmt::format("__builtin_prefetch(&{}{} + {}, {});", body_.element(buffer, address, where),
                             next, offset, write ? 1 : 0));
  };
  lines_.add(fmt::format("const index i{} = first + done;", along));
  for (std::size_t v = 0; v < k_.values.size(); ++v)
    if (k_.values[v].kind == KernelValue::Kind::load && k_.values[v].guard < 0)
      fetch(k_.values[v].buffer, k_.values[v].address, fmt::format("v{}", v), false);
  if (number != 1) return;
  for (std::size_t s = 0; s < k_.stores.size(); ++s)
    fetch(k_.stores[s].buffer, k_.stores[s].address, fmt::format("w{}", s), true);
}

/// The elements from `first` on, `length` of them, in runs along the innermost folded axis.
void CppEmitter::visit_runs(const Walk& w) {
  const bool some_axes = !reduced_.empty();
  const int inner = some_axes ? reduced_.back() : -1;
  const std::string n = some_axes ? body_.extent(inner) : "1";
  lines_.add(fmt::format("index outer = first / {0}, from_inner = first % {0}, run = 0;", n));
  lines_.open("for (index done = 0; done < length; done += run, ++outer, from_inner = 0) {");
  lines_.add(fmt::format("run = {0} - from_inner < length - done ? {0} - from_inner : length - done;", n));
  if (reduced_.size() > 1) body_.decode("outer", {reduced_.begin(), reduced_.end() - 1});
  lines_.add("#pragma omp simd");
  lines_.open("for (index l = 0; l < run; ++l) {");
  if (some_axes) lines_.add(fmt::format("const index i{} = from_inner + l;", inner));
  lines_.add("const index f = first + done + l;");
  visit(w);
  for (int v : w.folds)
    lines_.add(
        fmt::format("block{}[done + l] = {};", v, to_running(v, fmt::format("v{}", value(v).operands[0]))));
  lines_.close();
  lines_.close();
}

/// Elements of one block down a tile of columns.
void CppEmitter::visit_columns(const Walk& w) {
  lines_.open("for (int done = 0; done < length; ++done) {");
  lines_.add("const index f = first + done;");
  lines_.add(fmt::format("const int lane = done % {};", lanes));
  body_.decode("f", reduced_);
  open_columns();
  visit(w);
  accumulate(w, "[lane][c]");
  close_columns();
  lines_.close();
}

void CppEmitter::accumulate(const Walk& w, const std::string& lane) {
  for (int v : w.folds)
    append(v, {fmt::format("lane{}{}", v, lane), fmt::format("lane{}_at{}", v, lane)},
           {to_running(v, fmt::format("v{}", value(v).operands[0])), "f"});
}

/// Lanes beyond the block's length hold nothing, and folding nothing in changes nothing, so they are left
/// out.
void CppEmitter::fold_lanes(const Walk& w) {
  lines_.open(fmt::format("for (int half = {}; half != 0; half /= 2) {{", lanes / 2));
  lines_.open("for (int l = 0; l < half && l + half < used; ++l) {");
  open_columns();
  for (int v : w.folds)
    combine(
        v, {fmt::format("lane{}[l]{}", v, column()), fmt::format("lane{}_at[l]{}", v, column())},
        {fmt::format("lane{}[l + half]{}", v, column()), fmt::format("lane{}_at[l + half]{}", v, column())},
        false);
  close_columns();
  lines_.close();
  lines_.close();
}

/// As adding 1 to a binary counter carries: equal heights are folded, the earlier one on the left.
void CppEmitter::push(const Walk& w, std::size_t number, const std::string& count) {
  lines_.open(fmt::format("for (index carry = {}; (carry & 1) != 0; carry >>= 1) {{", count));
  lines_.add(fmt::format("--height{};", number));
  open_columns();
  for (int v : w.folds)
    combine(v, {fmt::format("lane{}[0]{}", v, column()), fmt::format("lane{}_at[0]{}", v, column())},
            {fmt::format("tree{}[height{}]{}", v, number, column()),
             fmt::format("tree{}_at[height{}]{}", v, number, column())},
            true);
  close_columns();
  lines_.close();
  open_columns();
  for (int v : w.folds) {
    lines_.add(fmt::format("tree{0}[height{1}]{2} = lane{0}[0]{2};", v, number, column()));
    if (finds_place(v))
      lines_.add(fmt::format("tree{0}_at[height{1}]{2} = lane{0}_at[0]{2};", v, number, column()));
  }
  close_columns();
  lines_.add(fmt::format("++height{};", number));
}

/// The fold of what is left on the tree: the reductions' values, or, for a piece of a row, its part of them.
void CppEmitter::total(const Walk& w, std::size_t number, bool partial) {
  for (int v : w.folds) {
    const std::string t = fmt::format("total{}", v), at = fmt::format("total{}_at", v);
    const std::string result = type_name(value(v).dtype);
    if (tile_ > 1)
      lines_.add(fmt::format("alignas(64) {} row{}{};", stored_type_name(value(v).dtype), v, tile()));
    open_columns();
    lines_.add(fmt::format("{0} {1} = height{2} == 0 ? {3} : tree{4}[height{2} - 1]{5};", fold_type(v), t,
                           number, to_running(v, body_.identity(v)), v, column()));
    if (finds_place(v))
      lines_.add(fmt::format("index {0} = height{1} == 0 ? 0 : tree{2}_at[height{1} - 1]{3};", at, number, v,
                             column()));
    lines_.open(fmt::format("for (int h = height{} - 2; h >= 0; --h) {{", number));
    combine(v, {t, at}, {fmt::format("tree{}[h]{}", v, column()), fmt::format("tree{}_at[h]{}", v, column())},
            true);
    lines_.close();
    const std::string found = finds_place(v) ? at : from_running(v, t);
    if (partial) {
      lines_.add(fmt::format("part{}[u] = {};", v, t));
      if (finds_place(v)) lines_.add(fmt::format("part{}_at[u] = {};", v, at));
    } else if (tile_ > 1) {
      lines_.add(fmt::format("row{}[c] = {};", v, found));
    } else {
      lines_.add(fmt::format("const {} v{} = {};", result, v, found));
    }
    close_columns();
  }
}

/// The reductions of an earlier phase: the pieces' parts of this row, folded as the blocks of a whole row
/// would be.
void CppEmitter::fold_partials(const Walk& w, std::size_t number) {
  if (w.folds.empty()) return;
  declare_running(w, number);
  lines_.open("for (index part = 0; part < pieces; ++part) {");
  for (int v : w.folds) {
    lines_.add(fmt::format("lane{0}[0] = part{0}[row * pieces + part];", v));
    if (finds_place(v)) lines_.add(fmt::format("lane{0}_at[0] = part{0}_at[row * pieces + part];", v));
  }
  push(w, number, "part");
  lines_.close();
  total(w, number, false);
}

}  // namespace sinter::codegen
