// Reductions across rows in a kernel that folds rows, as the gradient of a normalisation has them: sums along
// each row for one result, and over all rows for the weights. A thread that walks over its part of row after
// row carries along what it folds across them, so the tensor is read once.
//
// Results across rows are there only when all rows are done. In the group, nothing but elementwise nodes
// along a row's axes may depend on them.
#include <algorithm>

#include "passes/fuser.h"

namespace sinter::passes {

using ir::Value;

namespace {

/// Bytes of one row, and of one element of it, that threads can hold in registers with what they carry along.
constexpr std::int64_t most_row_bytes = 120 << 10;
constexpr std::int64_t most_element_bytes = 128;
/// What they carry along, where the row itself lies elsewhere.
constexpr std::int64_t most_carried_bytes = 128 << 10;

}  // namespace

/// Whether one folds exactly the axes that the other keeps, over one domain, and the first folds the
/// innermost axis, whose length is known.
bool Fuser::are_rows_and_columns(const Building& a, const Building& b) const {
  if (!options_.across_rows || !a.has_reduction || !b.has_reduction || a.domain != b.domain) return false;
  if (a.domain.empty() || a.in_segments || b.in_segments) return false;
  for (std::size_t i = 0; i < a.domain.size(); ++i)
    if (a.reduced[i] == b.reduced[i]) return false;
  const Building &rows = a.reduced.back() ? a : b, &columns = a.reduced.back() ? b : a;
  if (!columns.across.empty()) return false;
  std::int64_t length = 1;
  for (std::size_t i = 0; i < rows.domain.size(); ++i) {
    if (!rows.domain[i].is_constant()) {
      if (rows.reduced[i]) return false;
      continue;
    }
    if (rows.reduced[i]) length *= rows.domain[i].value();
  }
  // What either reads along the row, and what it carries along.
  std::vector<Value> read = rows.sources;
  read.insert(read.end(), columns.sources.begin(), columns.sources.end());
  std::ranges::sort(read);
  read.erase(std::ranges::unique(read).begin(), read.end());
  std::int64_t read_bytes = 0, carried_bytes = 0;
  for (Value v : read)
    if (const ir::Shape& shape = g_.shape(v); shape.rank() > 0 && !shape[shape.rank() - 1].is(1))
      read_bytes += size_of(g_.dtype(v));
  for (const Building* g : {&rows, &columns})
    for (Value v : g->nodes)
      if (ir::is_reduction(g_.op(v)) && (g == &columns || std::ranges::find(g->across, v) != g->across.end()))
        carried_bytes += std::max<std::int64_t>(4, size_of(g_.dtype(v)));
  const std::int64_t bytes = read_bytes + carried_bytes;
  if (bytes <= most_element_bytes && length * bytes <= most_row_bytes) return true;
  // One row is folded while the next one comes.
  return length * carried_bytes <= most_carried_bytes && 2 * length * read_bytes <= options_.row_memory;
}

/// Whether a node runs along no axes but those of a row.
bool Fuser::lies_in_row(Value v, const Building& rows) const {
  return std::ranges::all_of(
      alignment_[v.id], [&](int axis) { return axis < 0 || rows.reduced[static_cast<std::size_t>(axis)]; });
}

/// Whether a node of `columns` that runs along rows alone, and so is computed for each of them, must be
/// stored: others than the nodes of both groups read it.
bool Fuser::is_stored_for_row(Value v, const Building& columns, const Building& rows) const {
  if (alignment_[v.id].empty() || !lies_in_row(v, rows)) return false;
  std::uint32_t inside = 0;
  for (const Building* g : {&columns, &rows})
    for (Value reader : g->nodes)
      inside += static_cast<std::uint32_t>(std::ranges::count_if(
          g_.operands(reader), [&](Value operand) { return traces_[operand.id].source == v; }));
  return users_[v.id] > inside;
}

std::string Fuser::fold_across(int a, int b, const std::vector<Edge>& edges) {
  Building &x = groups_[static_cast<std::size_t>(a)], &y = groups_[static_cast<std::size_t>(b)];
  Building &rows = x.reduced.back() ? x : y, &columns = x.reduced.back() ? y : x;
  std::vector<Value> nodes = columns.nodes, after;
  std::ranges::sort(nodes);
  for (Value v : nodes) {
    const bool depends = std::ranges::any_of(g_.operands(v), [&](Value operand) {
      return std::ranges::binary_search(after, traces_[operand.id].source);
    });
    const bool reduction = ir::is_reduction(g_.op(v));
    if (!reduction && !depends) {
      if (is_stored_for_row(v, columns, rows)) return "it stores what is the same for all rows";
      continue;
    }
    const bool in_row = lies_in_row(v, rows);
    const bool finds_place = reduction && ir::reduction_info(g_.op(v)).accumulator == ir::Accumulator::index;
    if (finds_place) return "a place is found in whole rows or columns only";
    if (reduction ? depends : !in_row || alignment_[v.id].empty())
      return "elements of all rows depend on what it folds across them";
    after.push_back(v);  // in order, since the nodes are
  }
  for (const Edge& e : edges)
    if (std::ranges::binary_search(after, e.trace->source))
      return "elements of all rows depend on what it folds across them";
  for (Value v : after) {
    after_[v.id] = true;
    if (ir::is_reduction(g_.op(v))) columns.across.push_back(v);
  }
  columns.reduced = rows.reduced;
  columns.written = rows.written;
  absorb(a, b);
  return "";
}

}  // namespace sinter::passes
