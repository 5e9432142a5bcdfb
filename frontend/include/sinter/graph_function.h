// Functions over tensors in the form of a graph: read from the text form, or recorded from C++ with names for
// the inputs. They are what tools work with, that know a function at run time only.
//
//     auto f = GraphFunction::parse("graph @f(%x: f32[M, 64]) {\n  %0 = tanh(%x)\n  return %0\n}");
//     std::vector<Tensor> eager = f({x});            // one kernel per operation
//     auto compiled = sinter::compile(f);            // fused, like any other function
//     std::cout << f.lower(Target{"sm_90a"}).source();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/numerics.h"
#include "sinter/program.h"
#include "sinter/tensor.h"

namespace sinter {

namespace frontend {
struct GraphFunctionImpl;
}

/// An input of a GraphFunction.
struct GraphInput {
  std::string name;
  TensorSpec spec;
  /// For whole numbers that index an axis (take, take_along_axis, scatter_add): the length of that axis, the
  /// shortest where there are several.
  std::optional<Length> index_range = std::nullopt;
};

/// The values of the symbols in the inputs' lengths, from the shapes of some inputs by their names, as far as
/// those say it: of `2*M`, too. Shapes that do not fit are left for the function to refuse.
std::map<std::string, std::int64_t> solve_lengths(const std::vector<GraphInput>& inputs,
                                                  const std::map<std::string, Shape>& shapes);

/// The two ways to evaluate a graph without generated code.
enum class Evaluator : std::uint8_t {
  reference,  // exact between the inputs and the outputs, which are rounded; slow
  typed,      // rounded to the dtype at every operation, as eager does
};

/// Immutable; copies are cheap, and a move is a copy.
class GraphFunction {
 public:
  using Formula = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  GraphFunction(const GraphFunction&) = default;
  GraphFunction& operator=(const GraphFunction&) = default;

  /// Reads the text form (docs/tool.md describes it). Throws ValueError that names `file`, line and column,
  /// or the error of the operation that does not fit.
  static GraphFunction parse(std::string_view text, std::string_view file = {});
  /// Records what `formula` does to tensors of these kinds. Tensors that it closes over, random numbers and
  /// Vars are an UnsupportedError: hand them in as inputs.
  static GraphFunction record(std::string name, const std::vector<GraphInput>& inputs,
                              const Formula& formula);

  const std::string& name() const;
  std::vector<GraphInput> inputs() const;
  /// Names of the outputs; out0, out1, ... where the graph gives none.
  std::vector<std::string> outputs() const;
  /// The lengths without a value, in order of appearance.
  std::vector<std::string> symbols() const;
  /// The text form.
  std::string text() const;

  /// The function with lengths for some symbols. Throws ValueError for a symbol that it does not have, and
  /// for a length that is negative or breaks a condition of the graph.
  GraphFunction bind(const std::map<std::string, std::int64_t>& lengths) const;

  /// Runs the operations one by one, each as if it were called plainly; inside a compiled function, records
  /// them. Symbols take their values from the shapes. Throws ValueError, DTypeError or ShapeError for tensors
  /// that are not those of the graph.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;
  /// The same through an evaluator.
  std::vector<Tensor> evaluate(const std::vector<Tensor>& inputs, Evaluator evaluator) const;

  /// The fused program for inputs that lie side by side in memory. The setting SINTER_NUMERICS holds where no
  /// mode is given.
  Program lower(const Target& target = Target{}, std::optional<Numerics> numerics = std::nullopt) const;

 private:
  explicit GraphFunction(std::shared_ptr<const frontend::GraphFunctionImpl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const frontend::GraphFunctionImpl> impl_;
};

}  // namespace sinter
