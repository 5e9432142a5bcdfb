// Rows that begin anywhere in the vectors of their tensors (codegen/row_vectors.h), of the CUDA dialect. Of a
// row the first `lead` elements lie before its first vector, `full` are in vectors, and `edges` elements,
// these and those after the last vector, are in none: the team's last threads have one each besides their
// vectors, which they load, fold and store by itself, and keep in a register between walks.
#include <algorithm>
#include <utility>

#include "codegen/access.h"
#include "codegen/emit_cuda.h"
#include "ir/base/check.h"

namespace sinter::codegen {

void CudaEmitter::place_vectors() {
  lines_.add(
      fmt::format("const int lead = (int)(-({}) & {});", body_.affine(*by_.off_lines, "row"), vector_ - 1));
  lines_.add(fmt::format("const index full = ({} - {}) / {} * {};", row_length_,
                         by_.spare == 0 ? "lead" : std::to_string(by_.spare), vector_, vector_));
  // Of blocks that share a row the first has them.
  const std::string all = fmt::format("(int)({} - full)", row_length_);
  lines_.add(fmt::format("const int edges = {};", sharers_ > 1      ? "rank == 0 ? " + all + " : 0"
                                                  : pieces_.empty() ? all
                                                                    : "piece == 0 ? " + all + " : 0"));
  lines_.add(fmt::format("const int edge = {} - 1 - {};", team_, rows_ > 1 ? "t" : "(int)threadIdx.x"));
}

bool CudaEmitter::is_loaded_at_edge(int v) const {
  if (!schedule_.skewed || value(v).kind != KernelValue::Kind::load || !in_row_[static_cast<std::size_t>(v)])
    return false;
  return std::ranges::none_of(needed_by_load(k_, v),
                              [&](int needed) { return in_row_[static_cast<std::size_t>(needed)]; });
}

bool CudaEmitter::loads_shifted(int v) const {
  const KernelValue& x = value(v);
  return schedule_.skewed && load_access(v) != 0 && is_shifted(k_, x.buffer, x.address, inner_, by_);
}

bool CudaEmitter::loads_words(int v) const {
  constexpr int most_bytes = 16;
  const auto shifted = [&](const KernelValue& x) {
    return loads_shifted(static_cast<int>(&x - k_.values.data()));
  };
  const bool alone = std::ranges::count_if(k_.values, shifted) == 1;
  return is_same_for_rows(k_, v) && vector_ * size_of(value(v).dtype) <= most_bytes &&
         (!shared_rows_ || (sharers_ == 1 && alone));
}

void CudaEmitter::declare_edges(const Staging& staging) {
  std::vector<int> declared;
  for (const Walk& w : staging.walks)
    for (int v : w.values) {
      const bool kept = std::ranges::find(w.kept, v) != w.kept.end();
      if ((!kept && !is_loaded_at_edge(v)) || std::ranges::find(declared, v) != declared.end()) continue;
      declared.push_back(v);
      lines_.add(fmt::format("{} edge{};", type_name(value(v).dtype), v));
    }
}

void CudaEmitter::open_edge(std::string_view condition) {
  lines_.open(fmt::format("if (edge < edges{}{}) {{", condition.empty() ? "" : " && ", condition));
  lines_.add("const index e = edge < lead ? edge : full + edge;");
  body_.decode("e", reduced_axes_);
}

/// Before the vectors' arithmetic, so that it is on its way meanwhile.
void CudaEmitter::load_edge(const std::vector<const Walk*>& walks) {
  std::vector<int> loads;
  for (const Walk* w : walks)
    std::ranges::copy_if(w->values, std::back_inserter(loads), [&](int v) { return is_loaded_at_edge(v); });
  if (loads.empty()) return;
  open_edge();
  for (int v : loads) {
    const KernelValue& x = value(v);
    const std::string element = load_of(schedule_, 1, 1, body_.place_of(v)) + ".at[0]";
    lines_.add(fmt::format("edge{} = {};", v,
                           x.guard < 0 ? BodyPrinter::from_stored(element, x.dtype) : body_.load(v)));
  }
  lines_.close();
}

void CudaEmitter::visit_edge(const Walk& w, const std::function<void()>& each, std::string_view condition) {
  if (!schedule_.skewed) return;
  open_edge(condition);
  const int vector = std::exchange(vector_, 1);
  at_edge_ = true;
  visit(w, "", each);
  at_edge_ = false;
  vector_ = vector;
  lines_.close();
}

}  // namespace sinter::codegen
