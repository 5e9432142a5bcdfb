// The printer of the CUDA C++ dialect; codegen/emit_cuda.cpp has kernels and what a thread does with its
// elements, codegen/emit_cuda_rows.cpp walks over rows and folds.
#pragma once

#include "codegen/emit_body.h"

namespace sinter::codegen {

class CudaEmitter {
 public:
  CudaEmitter(const Kernel& kernel, const Schedule& schedule, const Target& target);
  KernelSource run();

 private:
  // emit_cuda.cpp
  void finish(KernelSource& source);
  void print_elements(KernelSource& source);
  /// The elements of one vector, from the one whose indices are declared on: wide loads, the arithmetic
  /// element by element with `each` after it, wide stores. `at` selects the thread's vector of the row, as
  /// in "[c]".
  void load_vectors(const Walk& walk, const std::string& at);
  void visit(const Walk& walk, const std::string& at, const std::function<void()>& each);
  void store(int number, std::string_view condition = "");
  /// Elements of one access where a load or store moves the whole vector; 0 where elements go one by one.
  int load_access(int value) const;
  int store_access(int number) const;
  std::string stored_type(int store) const;

  // emit_cuda_rows.cpp
  void print_rows(KernelSource& source);
  void declare_kept(const Walk& walk);
  void pin_restored(const Walk& walk);
  void declare_divisors(const Walk& walk);
  void print_walk(const Walk& walk);
  bool adds_rounded(int v) const;
  void add_part(const Walk& walk);
  void open_chunk();
  bool finds_place(int v) const { return value(v).finds_place(); }
  DType folded(int v) const;
  void declare_fold(int v, const std::string& name);
  /// "name = name op other"; for argmax, values with their places.
  void combine(int v, const std::string& name, const std::string& other, const std::string& other_at);
  void place_thread();
  void exchange_rows(const std::vector<int>& folds);
  void exchange_columns(const std::vector<int>& folds);
  /// Shared memory for `elements` running values of a fold.
  void declare_shared(int v, int elements);
  void exchange(const std::vector<int>& folds);
  void butterfly(int v, int from);

  const KernelValue& value(int v) const { return k_.values[static_cast<std::size_t>(v)]; }
  bool is_kept(int v) const;
  /// Whether a value is a quotient by one number for the whole row, whose reciprocal will do.
  bool divides_row(int v) const;

  const Kernel& k_;
  const Schedule& schedule_;
  Target target_;
  Lines lines_;
  BodyPrinter body_;
  std::vector<int> kept_axes_, reduced_axes_;
  int inner_ = -1;  // the axis that vectors run along
  int vector_ = 1;  // elements of a vector
  // Of rows: threads that share one, rows of a block, vectors that a thread takes before the next loop.
  int team_ = 1, rows_ = 1, chunks_ = 1;
  bool lanes_are_rows_ = false;  // a team's threads are in different warps, and a warp's in different teams
  bool whole_rows_ = true;       // a row is no longer than what its threads take at once
  std::string row_length_;
  std::vector<bool> in_row_;
  std::vector<int> divisors_;  // values whose reciprocals are declared
};

}  // namespace sinter::codegen
