// Reductions of the CUDA dialect that are folded along with another, their leader
// (codegen/merge_reductions.h): what they have added up under one value of the leader is rescaled where that
// changes.
#include <algorithm>

#include "codegen/emit_cuda.h"
#include "ir/base/check.h"

namespace sinter::codegen {

std::vector<int> CudaEmitter::followers(int v) const {
  std::vector<int> found;
  for (int f : schedule_.joined)
    if (value(f).join.leader == v) found.push_back(f);
  return found;
}

/// Whether followers add up squared distances from the mean. The state then has the sum of what is folded
/// less a pivot, one number for the whole row, since sums of large numbers that differ little lose what
/// matters; and how many there are.
bool CudaEmitter::has_mean(int leader) const {
  return std::ranges::any_of(followers(leader), [&](int f) { return adds_deviations(f); });
}

std::vector<std::string> CudaEmitter::own_parts(int v) const {
  if (finds_place(v)) return {"", "_at"};
  if (has_mean(v)) return {"", "_t", "_n"};
  return {""};
}

/// The row's first element is the pivot.
void CudaEmitter::declare_pivot(int leader) {
  const int x = value(leader).operands[0];
  lines_.add(fmt::format("{} pivot{};", type_name(folded(leader)), leader));
  lines_.open("{");
  lines_.add("const index first = 0;");
  body_.decode("first", reduced_axes_);
  for (int v : made_of(k_, x, [&](int u) { return in_row_[static_cast<std::size_t>(u)]; })) body_.declare(v);
  lines_.add(fmt::format("pivot{} = v{};", leader, x));
  lines_.close();
}

void CudaEmitter::accumulate_distance(int v, const std::string& state) {
  const int leader = value(v).join.leader;
  lines_.add(fmt::format("const {0} distance{1} = (v{2} - pivot{3}) - center{3};", type_name(folded(v)), v,
                         value(leader).operands[0], leader));
  lines_.add(fmt::format("{0}{1} = {0}{1} + distance{1} * distance{1};", state, v));
}

/// The first follower that is rescaled just as this one.
int CudaEmitter::rescaling_of(int follower) const {
  for (int f : followers(value(follower).join.leader))
    if (value(f).join.rescaling == value(follower).join.rescaling && folded(f) == folded(follower)) return f;
  return follower;
}

/// In terms of `from` and `to`, the leader's two values.
std::string CudaEmitter::rescaling_exponent(int follower) const {
  const DType t = folded(follower);
  const auto converted = [&](const std::string& text, DType own) {
    return own == t ? text : BodyPrinter::apply(ir::Op::cast, t, {text});
  };
  std::string sum;
  for (const Rescaling& r : value(follower).join.rescaling) {
    const auto row = [&](const std::string& leader) {
      const bool itself = r.row == value(follower).join.leader;
      return converted(itself ? leader : fmt::format("shift{}({})", r.row, leader), value(r.row).dtype);
    };
    std::string term = r.negative ? fmt::format("({} - {})", row("from"), row("to"))
                                  : fmt::format("({} - {})", row("to"), row("from"));
    for (int v : r.factors) term += " * " + converted(fmt::format("v{}", v), value(v).dtype);
    for (int v : r.divisors) term += " / " + converted(fmt::format("v{}", v), value(v).dtype);
    sum += (sum.empty() ? "" : " + ") + term;
  }
  return sum;
}

void CudaEmitter::declare_rescaling(int leader) {
  if (has_mean(leader)) return declare_pivot(leader);
  const std::string type = type_name(folded(leader));
  std::vector<int> shifts;
  for (int f : followers(leader))
    for (const Rescaling& r : value(f).join.rescaling)
      if (r.row != leader && std::ranges::find(shifts, r.row) == shifts.end()) shifts.push_back(r.row);
  for (int row : shifts) {
    lines_.open(fmt::format("const auto shift{} = [&](const {} v{}) {{", row, type, leader));
    for (int v : path(leader, row)) body_.declare(v);
    lines_.add(fmt::format("return v{};", row));
    lines_.close("};");
  }
  for (int f : followers(leader)) {
    if (rescaling_of(f) != f) continue;
    const std::string sum_type = type_name(folded(f));
    const Rescaling& r = value(f).join.rescaling[0];
    // As the terms are: of what is narrow, no more is asked of the factors of its sums.
    const bool formed = folded(f) == DType::f32 && r.form != passes::MathForm::portable;
    lines_.open(fmt::format("const auto rescaling{} = [&]({} from, {} to) {{", f, type, type));
    lines_.add(fmt::format("const {} exponent = from == to ? 0 : {};", sum_type, rescaling_exponent(f)));
    lines_.add(fmt::format("return rescaling<{}>{{exponent, {}}};", sum_type,
                           formed ? fmt::format("{}{}(exponent)", prefix(r.form), name(r.op))
                                  : BodyPrinter::apply(r.op, folded(f), {"exponent"})));
    lines_.close("};");
  }
}

void CudaEmitter::rescale(int leader, const std::vector<std::string>& states, const std::string& from,
                          const std::string& to) {
  if (has_mean(leader)) {
    for (int f : followers(leader))
      for (const std::string& state : states)
        lines_.add(
            fmt::format("{0}{1} = {0}{1} + off_mean({2}_t, {2}_n, {3}_t, {3}_n);", state, f, from, to));
    return;
  }
  lines_.open(fmt::format("if (!({} == {})) {{", from, to));
  for (int f : followers(leader))
    if (rescaling_of(f) == f)
      lines_.add(fmt::format("const auto by{0} = rescaling{0}({1}, {2});", f, from, to));
  for (int f : followers(leader))
    for (const std::string& state : states)
      lines_.add(fmt::format("{0}{1} = rescaled({0}{1}, by{2});", state, f, rescaling_of(f)));
  lines_.close();
}

/// The row's values on the way from the leader's result to one that is made of it, in order.
std::vector<int> CudaEmitter::path(int leader, int row) const {
  return made_of(k_, row, [&](int v) { return v != leader && depends_on(v, leader); });
}

bool CudaEmitter::depends_on(int v, int leader) const {
  std::vector<bool> depends(k_.values.size());
  for (int i = leader; i <= v; ++i) {
    bool any = i == leader;
    for_each_operand(k_, i, [&](int o) { any = any || depends[static_cast<std::size_t>(o)]; });
    depends[static_cast<std::size_t>(i)] = any;
  }
  return depends[static_cast<std::size_t>(v)];
}

}  // namespace sinter::codegen
