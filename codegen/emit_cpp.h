// The printer of the C++ dialect; codegen/emit_cpp.cpp has kernels and walks, codegen/emit_cpp_parts.cpp
// loops over elements, codegen/emit_cpp_fold.cpp the folds, codegen/emit_cpp_segments.cpp those of rows that
// fold parts of an axis.
#pragma once

#include <span>

#include "codegen/axis_parts.h"
#include "codegen/emit_body.h"

namespace sinter::codegen {

class CppEmitter {
 public:
  CppEmitter(const Kernel& kernel, const Schedule& schedule);
  KernelSource run();

 private:
  // emit_cpp.cpp
  void finish(KernelSource& source);
  void print_elements(KernelSource& source);
  void open_pieces(KernelSource& source);
  void turn(const SharedTile& tile, int rows, int width);
  BodyPrinter::Load from_tiles();
  void print_rows(KernelSource& source);
  void print_split_rows(KernelSource& source);
  void place_arrays(KernelSource& source);
  void open_units(KernelSource& source);
  void close_units();
  void row_values(const std::vector<int>& values);
  void row_stores();
  void sweep(const Walk& walk);
  void visit(const Walk& walk);
  void store(int number, int value);
  void store(int number) { store(number, k_.stores[static_cast<std::size_t>(number)].value); }
  void restore_row_values(const std::vector<int>& values, const std::vector<int>& stores,
                          const std::vector<int>& folds);

  // emit_cpp_parts.cpp
  void print_loops(const std::string& first, const std::string& last);
  void print_parts(std::span<const int> axes, std::vector<AxisPart>& parts, const std::string& first,
                   const std::string& last);
  void print_loop(const std::vector<AxisPart>& parts, const std::string& first, const std::string& last);

  // emit_cpp_fold.cpp
  void declare_running(const Walk& walk, std::size_t number);
  void fold(const Walk& walk, std::size_t number);
  void visit_block(const Walk& walk, std::size_t number);
  void visit_runs(const Walk& walk);
  void visit_columns(const Walk& walk);
  void accumulate(const Walk& walk, const std::string& lane);
  void fold_lanes(const Walk& walk);
  void push(const Walk& walk, std::size_t number, const std::string& count);
  void total(const Walk& walk, std::size_t number, bool partial);
  void fold_partials(const Walk& walk, std::size_t number);
  struct Running {
    std::string value, place;
  };
  /// "a = a op b", or "a = b op a" where b is earlier; for argmax, values with their places.
  void combine(int value, const Running& a, const Running& b, bool b_is_earlier);
  /// The same for an element that comes after all that the lane holds.
  void append(int value, const Running& lane, const Running& element);
  bool finds_place(int v) const { return value(v).finds_place(); }
  /// How a running value of a reduction is held: bool as bytes, the f32 of max and min as keys, others as
  /// they are.
  bool folds_keys(int v) const;
  DType running_dtype(int v) const {
    return folds_keys(v) ? DType::int32 : value(value(v).operands[0]).dtype;
  }
  std::string fold_type(int v) const { return stored_type_name(running_dtype(v)); }
  std::string to_running(int v, const std::string& text) const;
  std::string from_running(int v, const std::string& text) const;
  void fetch_ahead(std::size_t number);

  // emit_cpp_segments.cpp
  void fold_segment(const Walk& walk);
  void add_level(const Walk& walk, const std::string& into, const std::string& from);

  const KernelValue& value(int v) const { return k_.values[static_cast<std::size_t>(v)]; }
  /// Opens and closes a loop over the columns of a tile; nothing where rows are walked one by one.
  void open_columns();
  void close_columns();
  std::string column() const { return tile_ > 1 ? "[c]" : ""; }
  std::string tile() const { return tile_ > 1 ? fmt_tile() : ""; }
  std::string fmt_tile() const;

  const Kernel& k_;
  const Schedule& schedule_;
  Lines lines_;
  BodyPrinter body_;
  std::vector<int> kept_, reduced_;
  Staging staging_;
  std::vector<bool> in_row_;
  int tile_ = 1;  // rows that are walked side by side, along the innermost kept axis
  int tile_axis_ =
      -1;            // of a kernel without reductions: the axis whose elements are the rows of a tile, or -1
  int borders_ = 0;  // between parts of axes, so far
  int split_ = 0;    // elements of a row that one piece takes; 0 for whole rows
  std::string row_length_;  // the parameter
};

}  // namespace sinter::codegen
