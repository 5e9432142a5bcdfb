// One node of a model while it is imported: its operands as values of the graph, its attributes with their
// defaults.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/onnx/expr.h"
#include "tests/onnx/importer.h"

namespace sinter::testing::onnx {

/// What has been imported so far.
struct State {
  Imported result;
  std::map<std::string, ir::Value, std::less<>> values;  // by the model's names
  std::int64_t opset = 0;
};

class Call {
 public:
  Call(const Node& node, State& state) : node_(node), state_(state) {}

  const Node& node() const { return node_; }
  std::int64_t opset() const { return state_.opset; }
  ir::Graph& graph() { return state_.result.graph; }

  std::size_t arity() const { return node_.inputs.size(); }
  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Operand i; throws UnsupportedError when it is left out.
  Expr in(std::size_t i);
  std::vector<Expr> all();
  /// What operand i holds, for the inputs at hand.
  ir::Array contents(std::size_t i);
  std::vector<std::int64_t> integers(std::size_t i);
  double number(std::size_t i);

  bool has_attribute(std::string_view name) const { return node_.attributes.contains(name); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  std::vector<std::int64_t> list(std::string_view name, std::vector<std::int64_t> otherwise = {}) const;
  /// The list that newer versions of an operator take as operand i and older ones as an attribute.
  Axes axes(std::size_t i, std::string_view name);

  /// A tensor that stands in the model.
  Expr literal(ir::Array array);

 private:
  const Node& node_;
  State& state_;
};

/// Brings one node into the graph; one expression for each of its outputs that there is a use for.
using Handler = std::function<std::vector<Expr>(Call&)>;
using Handlers = std::map<std::string_view, Handler>;

Handlers elementwise_handlers();
Handlers reduction_handlers();  // with softmax, normalisations and losses
Handlers shape_handlers();
Handlers index_handlers();    // gathers, and what is made by counting
Handlers product_handlers();  // matrix products, and sums over windows

[[noreturn]] void unsupported(const Call& call, std::string_view what);

}  // namespace sinter::testing::onnx
