#include "codegen/row_vectors.h"

#include <algorithm>

#include "codegen/access.h"

namespace sinter::codegen {
namespace {

using Kind = KernelValue::Kind;

constexpr int least_vectors = 16;  // of a row: in a shorter one too much would go one by one
constexpr int access_bytes = 16;

/// A load or a store of rows, whose neighbouring elements are neighbours in memory.
struct Access {
  int buffer;
  Affine address;
  bool stores = false;
  bool leads = false;  // vectors may begin where its do
};

std::vector<Access> accesses(const Kernel& k, int inner) {
  constexpr int narrow = 8;  // bytes
  const std::vector<bool> varies = k.varies_along({inner});
  std::vector<Access> all;
  for (const KernelStore& s : k.stores)
    if (is_dense_along(k, s.address, inner)) all.push_back({s.buffer, s.address, true, true});
  for (std::size_t v = 0; v < k.values.size(); ++v) {
    const KernelValue& x = k.values[v];
    const int number = static_cast<int>(v);
    if (x.kind != Kind::load || load_elements(k, number, inner, varies, 1, narrow) == 0) continue;
    const bool leads = is_dense_along(k, x.address, inner) && x.guard < 0 && !is_same_for_rows(k, number);
    all.push_back({x.buffer, x.address, false, leads});
  }
  return all;
}

Affine without(const Affine& address, int axis) {
  Affine rest = address;
  std::erase_if(rest.terms, [&](const Term& t) { return t.atom == axis; });
  return rest;
}

int size_in(const Kernel& k, int buffer) {
  return size_of(k.buffers[static_cast<std::size_t>(buffer)].dtype);
}

/// Elements of one wide access.
int most_elements(const Kernel& k, int buffer, const RowVectors& by) {
  return std::min(by.elements, access_bytes / size_in(k, buffer));
}

/// For one element.
double accesses_per_element(const Kernel& k, int inner, const std::vector<Access>& all,
                            const RowVectors& by) {
  double sum = 0;
  for (const Access& a : all)
    sum += !a.stores && is_shifted(k, a.buffer, a.address, inner, by)
               ? 2.0 / most_elements(k, a.buffer, by)
               : 1.0 / access_elements(k, a.buffer, a.address, inner, by.elements, access_bytes, by.start());
  return sum;
}

/// Whether a row's elements are all that is folded, one after the other.
bool is_one_stretch(const Kernel& k, int inner) {
  return std::ranges::count(k.axes, true, &KernelAxis::reduced) == 1 && k.row_length().is_constant() &&
         k.axes[static_cast<std::size_t>(inner)].reduced && !k.fixed_fold_order && !k.folds_across() &&
         k.segment_axis() < 0;
}

/// How far the elements before a row's first vector and those that a load of two accesses takes after its
/// last one go together. Both begin at multiples of the vectors in a tensor that is the same for all rows.
int reach(const Kernel& k, int inner, const Access& a, int elements) {
  const Affine begin = without(a.address, inner);
  const bool whole = begin.is_constant() && begin.constant.known_divisor(k.facts) % elements == 0;
  return whole ? elements : 2 * elements - 1;
}

/// The vectors of one access.
RowVectors along_with(const Kernel& k, int inner, const std::vector<Access>& all, int elements,
                      const Access& leader) {
  RowVectors by{elements, true, 0, {}, without(leader.address, inner)};
  for (const Access& a : all)
    if (!a.stores && is_shifted(k, a.buffer, a.address, inner, by))
      by.spare = std::max(by.spare, reach(k, inner, a, elements));
  by.span = (k.row_length().value() - by.spare) / elements * elements;
  return by;
}

/// Those of the access whose vectors suit all of them best; of a store, if it is the same.
RowVectors best_of(const Kernel& k, int inner, const std::vector<Access>& all, int elements) {
  RowVectors best;
  double least = static_cast<double>(all.size() + 1);
  for (const Access& a : all) {
    if (!a.leads) continue;
    RowVectors by = along_with(k, inner, all, elements, a);
    const double n = accesses_per_element(k, inner, all, by);
    if (n >= least) continue;
    least = n;
    best = std::move(by);
  }
  return best;
}

bool is_multiple(const Kernel& k, const Affine& address, int of) {
  return address.constant.known_divisor(k.facts) % of == 0 &&
         std::ranges::all_of(address.terms,
                             [&](const Term& t) { return t.factor.known_divisor(k.facts) % of == 0; });
}

/// Where rows that begin at vectors begin, if not at lines: those that are stored, or else loaded.
std::optional<Affine> start_off_lines(const Kernel& k, int inner, int elements) {
  if (elements == 1 || !is_one_stretch(k, inner)) return std::nullopt;
  for (const Access& a : accesses(k, inner)) {
    Affine start = without(a.address, inner);
    if (!a.leads || !is_multiple(k, start, elements)) continue;
    if (is_multiple(k, start, vectors_of_line * elements)) return std::nullopt;
    return start;
  }
  return std::nullopt;
}

int widest_vector(const Kernel& k, const std::vector<Access>& all, int bytes) {
  int narrowest = access_bytes;
  for (const Access& a : all)
    if (a.leads) narrowest = std::min(narrowest, size_in(k, a.buffer));
  return std::max(1, bytes / narrowest);
}

}  // namespace

bool is_shifted(const Kernel& k, int buffer, const Affine& address, int inner, const RowVectors& by) {
  constexpr int most_elements_of_two = 8;  // with more a row has more edges than a warp has lanes
  return by.skewed && by.elements <= most_elements_of_two &&
         k.buffers[static_cast<std::size_t>(buffer)].alignment % access_bytes == 0 &&
         access_elements(k, buffer, address, inner, by.elements, access_bytes, by.start()) <
             most_elements(k, buffer, by);
}

RowVectors row_vectors(const Kernel& k, int inner, int bytes) {
  const RowVectors own = row_vectors_of(k, inner, vector_elements(k, inner, bytes), false);
  if (!is_one_stretch(k, inner)) return own;
  const std::vector<Access> all = accesses(k, inner);
  const int elements = widest_vector(k, all, bytes);
  if (elements == 1 || k.row_length().value() < std::int64_t{least_vectors} * elements) return own;
  RowVectors best = best_of(k, inner, all, elements);
  const bool fewer =
      best.skewed && accesses_per_element(k, inner, all, best) < accesses_per_element(k, inner, all, own);
  return fewer ? best : own;
}

RowVectors row_vectors_of(const Kernel& k, int inner, int elements, bool skewed) {
  if (skewed) return best_of(k, inner, accesses(k, inner), elements);
  return {elements, false, 0, k.row_length(), start_off_lines(k, inner, elements)};
}

int most_edges(const RowVectors& by) {
  if (!by.skewed) return 0;
  return by.spare > 0 ? by.spare + by.elements - 1 : 2 * (by.elements - 1);
}

std::int64_t least_span(const RowVectors& by) {
  return by.span.value() - (by.skewed && by.spare == 0 ? by.elements : 0);
}

std::int64_t places_in_lines(const RowVectors& by) {
  return by.span.value() + (by.off_lines ? (vectors_of_line - 1) * by.elements : 0);
}

}  // namespace sinter::codegen
