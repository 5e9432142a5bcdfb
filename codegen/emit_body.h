// What the dialects share: parameters, index arithmetic and one statement per value.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "codegen/source.h"
#include "codegen/staging.h"

namespace sinter::codegen {

/// Lines of text at an indentation.
class Lines {
 public:
  void open(std::string_view line);  // "for (...) {"
  void close(std::string_view line = "}");
  void add(std::string_view line);
  void indent() { ++depth_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 0;
};

class BodyPrinter {
 public:
  /// The first parameters are the kernel's buffers, in order.
  BodyPrinter(const Kernel& kernel, Lines& lines);

  // Names of the parameters that the text uses; each is made at its first use.
  std::string extent(int axis);
  std::string buffer(int number) const;
  std::string length(const ir::Dim& d, const std::string& name);
  std::string phase();
  /// The address of the scratch array of that number, with elements of this C type.
  std::string scratch(const std::string& name, const std::string& type, int array);

  /// An index expression; `where` names the place it stands at, so that its parameters are made once. Under a
  /// guard computed values fit an index; the guard itself sees them as the 64-bit numbers they are.
  std::string affine(const Affine& a, const std::string& where, bool guarded = true);
  /// Prints values from now on as this kernel has them, which has the same ones with other operands.
  void take_values_of(const Kernel& kernel) { kernel_ = &kernel; }
  /// Declares a value: "const f32 v3 = v1 * v2;". Loads go through `load` if given.
  using Load = std::function<std::string(int value)>;
  void declare(int value, const Load& load = {});
  /// The right-hand side of a value's declaration.
  std::string expression(int value);
  std::vector<std::string> factors(int product) const;
  std::string load(int value);
  /// Where what a value loads lies, as a pointer.
  std::string place_of(int value);
  /// What was read from memory, as a value.
  static std::string from_stored(const std::string& text, DType t);
  std::string element(int buffer, const Affine& address, const std::string& where);
  /// The index of the element that a store, of this number, writes. Where the part begins that a kernel
  /// writes is an argument even if that is at 0, so that kernels of all parts have one text.
  std::string store_index(int number);
  /// `op` applied to operand texts, for whole numbers wrapping at the dtype.
  static std::string apply(ir::Op op, DType dtype, const std::vector<std::string>& operands);
  /// The parameter that holds the value a fold of the reduction `value` starts from.
  std::string identity(int value);
  std::string literal(const ir::Scalar& s, const std::string& name);
  /// "const index i1 = rest % n1; ..." for the variable of a running number over these axes, the last one
  /// fastest.
  void decode(const std::string& variable, const std::vector<int>& axes);

  /// Which part of the axis the row folds whose indices are declared: "segment_begin" and "segment_end".
  void segment(int axis);

  std::vector<KernelParam>& params() { return params_; }
  /// Gives each parameter its offset; returns the size of the block.
  int lay_out(int index_bytes);
  /// "struct Params { ... };" and, for the body, a local copy of each field.
  std::string param_struct(std::string_view name = "Params") const;
  std::vector<std::string> param_locals() const;
  static std::string value_name(int value);

 private:
  const Kernel* kernel_;
  Lines& lines_;
  std::vector<KernelParam> params_;
  std::map<std::string, bool> made_;
};

/// How many pieces of that size n elements make, the last one perhaps in part; n itself where it has symbols.
ir::Dim pieces_of(const ir::Dim& n, std::int64_t size);

/// The C name of a dtype.
std::string type_name(DType t);
/// The C name of a dtype's elements in memory: bool is read and written as bytes, since g++ does not
/// vectorise loops over arrays of bool.
std::string stored_type_name(DType t);

/// The comment that stands above a kernel's text.
std::string header_comment(const Kernel& kernel, const Schedule& schedule);

// The dialects; both print the same stages, values and folds.
KernelSource emit_cpp(const Kernel& kernel, const Schedule& schedule);
KernelSource emit_cuda(const Kernel& kernel, const Schedule& schedule, const Target& target);

}  // namespace sinter::codegen
