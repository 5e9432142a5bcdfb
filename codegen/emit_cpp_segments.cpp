// Folds of the C++ dialect over a part of an axis that each row has for itself: sums in the order of the
// part, by the levels of ir/scatter.h. Most parts are short, and need but the first.
#include "codegen/emit_cpp.h"
#include "ir/base/check.h"
#include "ir/scatter.h"

namespace sinter::codegen {

/// "few5[c] = few5[c] + row5[c]", and nothing is left of what was added.
void CppEmitter::add_level(const Walk& w, const std::string& into, const std::string& from) {
  open_columns();
  for (int v : w.folds) {
    const std::string a = fmt::format("{}{}{}", into, v, column()),
                      b = fmt::format("{}{}{}", from, v, column());
    lines_.add(fmt::format("{} = {};", a, BodyPrinter::apply(ir::Op::add, value(v).dtype, {a, b})));
    lines_.add(fmt::format("{} = {};", b, body_.identity(v)));
  }
  close_columns();
}

void CppEmitter::fold_segment(const Walk& w) {
  const auto clear = [&](std::initializer_list<std::string_view> levels) {
    open_columns();
    for (int v : w.folds)
      for (std::string_view level : levels)
        lines_.add(fmt::format("{}{}{} = {};", level, v, column(), body_.identity(v)));
    close_columns();
  };
  // What rows have in the end is read from the array of the first level.
  const std::string first = tile_ > 1 ? "row" : "run";
  for (int v : w.folds)
    lines_.add(fmt::format("alignas(64) {0} {1}{2}{3}, few{2}{3}, many{2}{3}, all{2}{3};",
                           type_name(value(v).dtype), first, v, tile()));
  clear({first});
  lines_.add(fmt::format("const bool is_long = segment_end - segment_begin > {};", ir::segment_run));
  lines_.open("if (is_long) {");
  clear({"few", "many", "all"});
  lines_.close();
  lines_.add("index runs = 0;");
  lines_.open(
      fmt::format("for (index begin = segment_begin; begin < segment_end; begin += {}) {{", ir::segment_run));
  lines_.open(
      fmt::format("for (index f = begin; f < segment_end && f < begin + {}; ++f) {{", ir::segment_run));
  body_.decode("f", reduced_);
  open_columns();
  visit(w);
  for (int v : w.folds) {
    const std::string a = fmt::format("{}{}{}", first, v, column());
    lines_.add(fmt::format(
        "{} = {};", a,
        BodyPrinter::apply(ir::Op::add, value(v).dtype, {a, fmt::format("v{}", value(v).operands[0])})));
  }
  close_columns();
  lines_.close();
  lines_.add("if (!is_long) continue;");
  add_level(w, "few", first);
  lines_.add(fmt::format("if (++runs % {} != 0) continue;", ir::segment_level));
  add_level(w, "many", "few");
  lines_.open(fmt::format("if (runs % {} == 0) {{", ir::segment_level * ir::segment_level));
  add_level(w, "all", "many");
  lines_.close();
  lines_.close();
  lines_.open("if (is_long) {");
  add_level(w, "all", "few");
  add_level(w, "all", "many");
  add_level(w, first, "all");
  lines_.close();
  if (tile_ > 1) return;
  for (int v : w.folds)
    lines_.add(fmt::format("const {0} v{1} = {2}{1};", type_name(value(v).dtype), v, first));
}

}  // namespace sinter::codegen
