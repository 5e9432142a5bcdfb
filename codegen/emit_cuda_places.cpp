// Reductions of the CUDA dialect that report a place, over a thread's elements of a row or of a stretch of
// one: first the greatest or least of them all, an instruction an element, then, only if it is beyond what
// was found before, where it is.
#include <algorithm>

#include "codegen/emit_cuda.h"

namespace sinter::codegen {

/// From here to find_places, the walk's folds that report places only look for the extreme.
void CudaEmitter::declare_extremes(const Walk& w) {
  for (int v : w.folds) {
    if (!finds_place(v)) continue;
    extremes_.push_back(v);
    lines_.add(fmt::format("{} most{} = {};", type_name(folded(v)), v, body_.identity(v)));
  }
}

void CudaEmitter::find_places(const Walk& w) {
  const auto found = [&](int v) { return std::ranges::find(w.restored, v) != w.restored.end(); };
  const auto at_element = [&](int v) { return found(v) || std::ranges::find(w.values, v) != w.values.end(); };
  for (int v : extremes_) {
    const std::string state = fmt::format("{}{}", running(v), v);
    lines_.open(fmt::format("if ({0}_exceeds(most{1}, {2}) || {2}_at < 0) {{", name(value(v).op), v, state));
    lines_.add(fmt::format("{} = most{};", state, v));
    // Backwards, so that of equals the first is left.
    open_chunk(Chunks::visit_back);
    load_vectors(w, "", true);
    if (vector_ > 1) open_elements(fmt::format("k = {}; k >= 0; --k", vector_ - 1));
    for (int u : made_of(k_, value(v).operands[0], at_element, found)) declare_element(w, u, "[c]");
    lines_.add(fmt::format("{0}_at = is_extreme(v{1}, most{2}) ? {3} : {0}_at;", state, value(v).operands[0],
                           v, place_in_row()));
    if (vector_ > 1) lines_.close();
    lines_.close();
    lines_.close();
    lines_.close();
  }
  extremes_.clear();
}

}  // namespace sinter::codegen
