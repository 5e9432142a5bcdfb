// Loops over elements. Where concat or pad test places along an axis, there is a loop for each part of it
// between two borders, which tests nothing: a vector loop that reads one tensor under no condition runs at
// the speed of memory, one that selects from several does not.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit_cpp.h"

namespace sinter::codegen {
namespace {

/// Borders along the axis of what is left in the parts; none where a loop would be too short to gain from it.
std::vector<std::int64_t> borders_in(const Kernel& k, int axis, std::span<const AxisPart> parts) {
  constexpr std::int64_t least_elements = 16;  // of a loop, on average
  std::vector<std::int64_t> borders = borders_along(k, axis, in_parts(k, parts).needed);
  const bool innermost = axis + 1 == static_cast<int>(k.axes.size());
  const auto loops = static_cast<std::int64_t>(borders.size()) + 1;
  if (innermost && loops > 1 && k.axes.back().extent.value() < loops * least_elements) return {};
  return borders;
}

/// Calls `f` with each part of the axis.
void for_each_part(const Kernel& k, int axis, std::span<const std::int64_t> borders,
                   const std::function<void(AxisPart)>& f) {
  std::int64_t begin = 0;
  for (std::int64_t border : borders) {
    f({axis, begin, border});
    begin = border;
  }
  f({axis, begin, k.axes[static_cast<std::size_t>(axis)].extent.value()});
}

/// Statements of the loops over all parts of these axes, as far as `most` of them.
int statements(const Kernel& k, std::span<const int> axes, std::vector<AxisPart>& parts, int most) {
  constexpr int of_loop = 16;  // what a loop costs a compiler beside what is in it
  if (axes.empty()) return of_loop + static_cast<int>(in_parts(k, parts).needed.size());
  const std::vector<std::int64_t> borders = borders_in(k, axes[0], parts);
  if (borders.empty()) return statements(k, axes.subspan(1), parts, most);
  int count = 0;
  for_each_part(k, axes[0], borders, [&](AxisPart part) {
    if (count > most) return;
    parts.push_back(part);
    count += statements(k, axes.subspan(1), parts, most - count);
    parts.pop_back();
  });
  return count;
}

}  // namespace

void CppEmitter::print_loops(const std::string& first, const std::string& last) {
  constexpr int most = 640;
  std::vector<AxisPart> parts;
  std::span<const int> axes(kept_);
  while (!axes.empty() && statements(k_, axes, parts, most) > most) axes = axes.subspan(1);
  print_parts(axes, parts, first, last);
}

/// Loops over the parts of these axes within the parts of others.
void CppEmitter::print_parts(std::span<const int> axes, std::vector<AxisPart>& parts,
                             const std::string& first, const std::string& last) {
  if (axes.empty()) return print_loop(parts, first, last);
  const int axis = axes[0];
  const std::vector<std::int64_t> borders = borders_in(k_, axis, parts);
  if (borders.empty()) return print_parts(axes.subspan(1), parts, first, last);
  const bool innermost = axis == kept_.back();
  std::size_t number = 0;
  std::string from = first;
  for_each_part(k_, axis, borders, [&](AxisPart part) {
    parts.push_back(part);
    const bool is_last = number == borders.size();
    const std::string border = is_last ? "" : body_.length(part.end, fmt::format("border{}", borders_++));
    if (innermost) {
      const std::string to = is_last ? last : "to_" + border;
      if (!is_last)
        lines_.add(fmt::format("const index {0} = {1} < {2} ? {2} : {1} < {3} ? {1} : {3};", to, border, from,
                               last));
      print_loop(parts, from, to);
      from = to;
    } else {
      if (is_last)
        lines_.open("else {");
      else
        lines_.open(fmt::format("{}if (i{} < {}) {{", number > 0 ? "else " : "", axis, border));
      print_parts(axes.subspan(1), parts, first, last);
      lines_.close();
    }
    parts.pop_back();
    ++number;
  });
}

void CppEmitter::print_loop(const std::vector<AxisPart>& parts, const std::string& first,
                            const std::string& last) {
  const InParts in = in_parts(k_, parts);
  const Kernel here = as_in(k_, in);
  body_.take_values_of(here);
  const int inner = kept_.empty() ? 0 : kept_.back();
  lines_.add("#pragma omp simd");
  lines_.open(fmt::format("for (index i{0} = {1}; i{0} < {2}; ++i{0}) {{", inner, first, last));
  for (int v : in.needed) body_.declare(v, from_tiles());
  for (std::size_t s = 0; s < k_.stores.size(); ++s) store(static_cast<int>(s), here.stores[s].value);
  lines_.close();
  body_.take_values_of(k_);
}

}  // namespace sinter::codegen
