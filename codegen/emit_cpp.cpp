// The C++ dialect: a function over a range of pieces, which the runtime divides among threads. Innermost
// loops are vectorised by `omp simd`.
//
// A kernel with reductions walks its rows one by one; or, where memory runs along the kept axis, a tile of
// rows side by side; or, where there are few long rows, a piece of a row at a time, in phases: what a phase
// folds is left per piece and folded over the pieces by whoever needs it in the next.
#include "codegen/emit_cpp.h"

#include <algorithm>

#include "codegen/prelude.h"
#include "ir/base/check.h"

namespace sinter::codegen {

using Kind = KernelValue::Kind;

namespace {

/// The size of an axis' factor at a level, or 0.
int factor(const Schedule& s, int axis, Level level) {
  for (const Factor& f : s.axes[static_cast<std::size_t>(axis)])
    if (f.level == level) return f.size;
  return 0;
}

}  // namespace

CppEmitter::CppEmitter(const Kernel& k, const Schedule& s)
    : k_(k), schedule_(s), body_(k, lines_), in_row_(k.varies_in_row()) {
  for (std::size_t i = 0; i < k.axes.size(); ++i)
    (k.axes[i].reduced ? reduced_ : kept_).push_back(static_cast<int>(i));
  for (int axis : kept_)
    if (!k.has_reduction() && factor(s, axis, Level::loop) != 0) tile_axis_ = axis;
  if (!k.has_reduction()) return;
  if (!kept_.empty()) tile_ = std::max(1, factor(s, kept_.back(), Level::vector));
  if (!reduced_.empty()) split_ = factor(s, reduced_.back(), Level::thread);
  staging_ = stage(k, [&](int v) {
    return std::ranges::any_of(schedule_.crossings, [&](const Crossing& c) { return c.value == v; });
  });
}

std::string CppEmitter::fmt_tile() const {
  return fmt::format("[{}]", tile_);
}

KernelSource CppEmitter::run() {
  KernelSource source;
  lines_.indent();
  if (!k_.has_reduction())
    print_elements(source);
  else if (split_ != 0)
    print_split_rows(source);
  else
    print_rows(source);
  finish(source);
  return source;
}

void CppEmitter::finish(KernelSource& source) {
  source.name = k_.name;
  source.schedule = schedule_;
  source.param_bytes = body_.lay_out(8);
  source.params = body_.params();
  source.header = header_comment(k_, schedule_);
  std::string text = "namespace sinter {\n\ntypedef int64 index;\n\n" + body_.param_struct() + "\n";
  text += fmt::format("extern \"C\" void {}(const void* params, int64 begin, int64 end, void* scratch) {{\n",
                      k_.name);
  text += "  const Params& p = *(const Params*)params;\n";
  for (const std::string& local : body_.param_locals()) text += "  " + local + "\n";
  if (source.scratch.empty()) text += "  (void)scratch;\n";
  text += lines_.take() + "}\n\n}  // namespace sinter\n";
  source.text = prelude(text, Backend::cpu) + "\n" + text;
}

void CppEmitter::store(int number, int value) {
  const KernelStore& s = k_.stores[static_cast<std::size_t>(number)];
  lines_.add(fmt::format("{}[{}] = v{};", body_.buffer(s.buffer), body_.store_index(number), value));
}

/// Brings what a tile has of a load to an array in which it lies as the loops go.
void CppEmitter::turn(const SharedTile& tile, int rows, int width) {
  const KernelValue& v = value(tile.load);
  const int inner = kept_.back();
  lines_.add(fmt::format("alignas(64) {} tile{}[{}];", stored_type_name(v.dtype), tile.load, rows * width));
  lines_.open("{");
  lines_.add(fmt::format("const index i{} = top, i{} = first;", tile_axis_, inner));
  const std::string name = fmt::format("v{}", tile.load);
  lines_.add(fmt::format("turn<{}>(tile{}, &{}, {}, bottom - top, last - first);", width, tile.load,
                         body_.element(v.buffer, v.address, name),
                         body_.length(v.address.factor(inner), name + "_gap")));
  lines_.close();
}

/// What stands for loads: elements of their tile, where they have one.
BodyPrinter::Load CppEmitter::from_tiles() {
  return [this](int v) {
    if (std::ranges::find(schedule_.tiles, v, &SharedTile::load) == schedule_.tiles.end())
      return body_.load(v);
    const std::string element = fmt::format("tile{}[(i{} - top) * {} + i{} - first]", v, tile_axis_,
                                            factor(schedule_, kept_.back(), Level::vector), kept_.back());
    return BodyPrinter::from_stored(element, value(v).dtype);
  };
}

void CppEmitter::print_elements(KernelSource& source) {
  source.unit_elements = 1;
  if (kept_.size() <= 1) {
    source.units = k_.rows();
    print_loops("begin", "end");
    return;
  }
  lines_.open("for (index u = begin; u < end; ++u) {");
  open_pieces(source);
  print_loops("first", "last");
  if (tile_axis_ >= 0) lines_.close();
  lines_.close();
}

/// What piece `u` of the elements is: from `first` to `last` of the innermost axis, of one row or, in a loop
/// that stays open, of the rows of a tile.
void CppEmitter::open_pieces(KernelSource& source) {
  const int inner = kept_.back();
  const ir::Dim& length = k_.axes[static_cast<std::size_t>(inner)].extent;
  const std::string n = body_.extent(inner);
  std::vector<int> outer(kept_.begin(), kept_.end() - 1);
  ir::Dim rows = k_.rows().divided_by(length).value_or(0);
  const auto along = [&](std::string_view from, std::string_view to, std::string_view number,
                         const std::string& extent, int size) {
    lines_.add(fmt::format("const index {} = {} * {};", from, number, size));
    lines_.add(fmt::format("const index {0} = {1} - {2} < {3} ? {1} : {2} + {3};", to, extent, from, size));
  };
  const int width =
      std::max(factor(schedule_, inner, Level::thread), factor(schedule_, inner, Level::vector));
  if (width == 0) {
    source.units = rows;
    source.unit_elements = length;
    lines_.add(fmt::format("const index row = u, first = 0, last = {};", n));
    body_.decode("row", outer);
    return;
  }
  lines_.add(fmt::format("const index pieces = ({} + {}) / {};", n, width - 1, width));
  along("first", "last", "u % pieces", n, width);
  if (tile_axis_ < 0) {
    source.units = rows * pieces_of(length, width);
    source.unit_elements =
        length.is_constant() ? ir::Dim(std::min<std::int64_t>(length.value(), width)) : length;
    lines_.add("const index row = u / pieces;");
    body_.decode("row", outer);
    return;
  }
  const int tile_rows = factor(schedule_, tile_axis_, Level::loop);
  const ir::Dim& across = k_.axes[static_cast<std::size_t>(tile_axis_)].extent;
  const std::string n_across = body_.extent(tile_axis_);
  source.units =
      rows.divided_by(across).value_or(0) * pieces_of(across, tile_rows) * pieces_of(length, width);
  source.unit_elements = tile_rows * width;
  lines_.add(fmt::format("const index tiles = ({} + {}) / {};", n_across, tile_rows - 1, tile_rows));
  along("top", "bottom", "u / pieces % tiles", n_across, tile_rows);
  lines_.add("const index row = u / pieces / tiles;");
  std::erase(outer, tile_axis_);
  body_.decode("row", outer);
  for (const SharedTile& tile : schedule_.tiles) turn(tile, tile_rows, width);
  lines_.open(fmt::format("for (index i{0} = top; i{0} < bottom; ++i{0}) {{", tile_axis_));
}

void CppEmitter::open_units(KernelSource& source) {
  row_length_ = reduced_.size() == 1 ? body_.extent(reduced_[0]) : body_.length(k_.row_length(), "n_row");
  if (tile_ > 1) {
    const int inner = kept_.back();
    const std::string n = body_.extent(inner);
    const ir::Dim& length = k_.axes[static_cast<std::size_t>(inner)].extent;
    source.units = k_.rows().divided_by(length).value_or(0) * pieces_of(length, tile_);
    source.unit_elements = k_.row_length() * ir::Dim(tile_);
    place_arrays(source);
    lines_.add(fmt::format("const index tiles = ({} + {}) / {};", n, tile_ - 1, tile_));
    lines_.open("for (index u = begin; u < end; ++u) {");
    lines_.add("const index row = u / tiles;");
    lines_.add(fmt::format("const index column = u % tiles * {};", tile_));
    lines_.add(
        fmt::format("const int width = {} - column < {} ? (int)({} - column) : {};", n, tile_, n, tile_));
    body_.decode("row", {kept_.begin(), kept_.end() - 1});
    return;
  }
  source.units = k_.rows();
  source.unit_elements = k_.row_length();
  place_arrays(source);
  lines_.open("for (index u = begin; u < end; ++u) {");
  body_.decode("u", kept_);
}

void CppEmitter::close_units() {
  lines_.close();
}

void CppEmitter::open_columns() {
  if (tile_ == 1) return;
  lines_.add("#pragma omp simd");
  lines_.open("for (int c = 0; c < width; ++c) {");
  lines_.add(fmt::format("const index i{} = column + c;", kept_.back()));
}

void CppEmitter::close_columns() {
  if (tile_ > 1) lines_.close();
}

void CppEmitter::print_rows(KernelSource& source) {
  open_units(source);
  if (const int axis = k_.segment_axis(); axis >= 0)
    body_.segment(axis);
  else
    lines_.add("const index row_begin = 0, row_end = " + row_length_ + ";");
  for (std::size_t w = 0; w < staging_.walks.size(); ++w) {
    const Walk& walk = staging_.walks[w];
    row_values(walk.row_values);
    if (walk.folds.empty()) {
      sweep(walk);
    } else if (k_.segment_axis() >= 0) {
      fold_segment(walk);
    } else {
      fold(walk, w);
      total(walk, w, false);
    }
  }
  row_values(staging_.row_values);
  row_stores();
  close_units();
}

void CppEmitter::print_split_rows(KernelSource& source) {
  row_length_ = reduced_.size() == 1 ? body_.extent(reduced_[0]) : body_.length(k_.row_length(), "n_row");
  const ir::Dim pieces = pieces_of(k_.row_length(), split_);
  const std::string n_pieces = body_.length(pieces, "pieces");
  source.units = k_.rows() * pieces;
  source.unit_elements = split_;
  source.shared_scratch = true;
  place_arrays(source);
  source.phases = static_cast<int>(staging_.walks.size()) + (staging_.row_stores.empty() ? 0 : 1);
  const std::string phase = body_.phase();
  for (int now = 0; now < source.phases; ++now) {
    const auto current = static_cast<std::size_t>(now);
    lines_.open(fmt::format("if ({} == {}) for (index u = begin; u < end; ++u) {{", phase, now));
    lines_.add(fmt::format("const index row = u / {}, piece = u % {};", n_pieces, n_pieces));
    body_.decode("row", kept_);
    if (current == staging_.walks.size()) lines_.add("if (piece != 0) continue;");
    for (std::size_t w = 0; w < current; ++w) {
      row_values(staging_.walks[w].row_values);
      fold_partials(staging_.walks[w], w);
    }
    if (current < staging_.walks.size()) {
      const Walk& walk = staging_.walks[current];
      lines_.add(fmt::format("const index row_begin = piece * {};", split_));
      lines_.add(fmt::format("const index row_end = {0} - row_begin < {1} ? {0} : row_begin + {1};",
                             row_length_, split_));
      row_values(walk.row_values);
      if (walk.folds.empty()) {
        sweep(walk);
      } else {
        fold(walk, current);
        total(walk, current, true);
      }
    } else {
      row_values(staging_.row_values);
      row_stores();
    }
    lines_.close();
  }
}

/// Working memory: an array of a row's length (times the tile) per kept value; what pieces fold, per piece.
void CppEmitter::place_arrays(KernelSource& source) {
  std::string place = "(char*)scratch";
  auto array = [&](const std::string& type, const std::string& name, int size, const ir::Dim& elements) {
    const std::string count = body_.length(elements, "size_" + name);
    lines_.add(fmt::format("{0}* const __restrict {1} = ({0}*)({2});", type, name, place));
    source.scratch.push_back({size, elements});
    place = fmt::format("(char*){} + ({} * {} + 63) / 64 * 64", name, count, size);
  };
  const ir::Dim rows = split_ != 0 ? k_.rows() : ir::Dim(tile_);
  for (const Walk& w : staging_.walks) {
    for (int v : w.kept)
      array(stored_type_name(value(v).dtype), fmt::format("kept{}", v), size_of(value(v).dtype),
            k_.row_length() * rows);
    if (split_ == 0) continue;
    const ir::Dim pieces = k_.rows() * pieces_of(k_.row_length(), split_);
    for (int v : w.folds) {
      array(fold_type(v), fmt::format("part{}", v), size_of(value(value(v).operands[0]).dtype), pieces);
      if (finds_place(v)) array("index", fmt::format("part{}_at", v), 8, pieces);
    }
  }
}

/// Values of a row, once; of a tile of rows, each in an array.
void CppEmitter::row_values(const std::vector<int>& values) {
  if (tile_ == 1) {
    for (int v : values) body_.declare(v);
    return;
  }
  if (values.empty()) return;
  for (int v : values)
    lines_.add(fmt::format("alignas(64) {} row{}{};", stored_type_name(value(v).dtype), v, tile()));
  open_columns();
  restore_row_values(values, {}, {});
  for (int v : values) {
    body_.declare(v);
    lines_.add(fmt::format("row{}[c] = v{};", v, v));
  }
  close_columns();
}

/// In a loop over the columns of a tile: the row's values that these values, stores and folds use, and that
/// are not among them.
void CppEmitter::restore_row_values(const std::vector<int>& values, const std::vector<int>& stores,
                                    const std::vector<int>& folds) {
  if (tile_ == 1) return;
  std::vector<int> used;
  auto use = [&](int v) {
    const bool own = std::ranges::find(values, v) != values.end() || in_row_[static_cast<std::size_t>(v)];
    if (!own && std::ranges::find(used, v) == used.end()) used.push_back(v);
  };
  for (int v : values) for_each_operand(k_, v, use);
  for (int s : stores) use(k_.stores[static_cast<std::size_t>(s)].value);
  for (int v : folds) use(value(v).operands[0]);
  for (int v : used) {
    const std::string element = BodyPrinter::from_stored(fmt::format("row{}[c]", v), value(v).dtype);
    lines_.add(fmt::format("const {} v{} = {};", type_name(value(v).dtype), v, element));
  }
}

void CppEmitter::row_stores() {
  if (staging_.row_stores.empty()) return;
  open_columns();
  restore_row_values({}, staging_.row_stores, {});
  for (int s : staging_.row_stores) store(s);
  close_columns();
}

/// What a walk does at one element, `f` its number in the row.
void CppEmitter::visit(const Walk& w) {
  restore_row_values(w.values, w.stores, w.folds);
  const std::string place = tile_ > 1     ? fmt::format("f * {} + c", tile_)
                            : split_ != 0 ? "row * " + row_length_ + " + f"
                                          : "f";
  for (int v : w.restored) {
    const std::string kept = BodyPrinter::from_stored(fmt::format("kept{}[{}]", v, place), value(v).dtype);
    lines_.add(fmt::format("const {} v{} = {};", type_name(value(v).dtype), v, kept));
  }
  for (int v : w.values) body_.declare(v);
  for (int v : w.kept) lines_.add(fmt::format("kept{}[{}] = v{};", v, place, v));
  for (int s : w.stores) store(s);
}

void CppEmitter::sweep(const Walk& w) {
  if (tile_ > 1) {
    lines_.open("for (index f = row_begin; f < row_end; ++f) {");
    body_.decode("f", reduced_);
    open_columns();
    visit(w);
    close_columns();
    lines_.close();
  } else if (reduced_.size() == 1) {
    lines_.add("#pragma omp simd");
    lines_.open("for (index f = row_begin; f < row_end; ++f) {");
    body_.decode("f", reduced_);
    visit(w);
    lines_.close();
  } else {
    lines_.add("const index first = row_begin, length = row_end - row_begin;");
    lines_.open("if (length != 0) {");
    visit_runs(w);
    lines_.close();
  }
}

KernelSource emit_cpp(const Kernel& kernel, const Schedule& schedule) {
  return CppEmitter(kernel, schedule).run();
}

}  // namespace sinter::codegen
