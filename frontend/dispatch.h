// The one way into every operation: recorded while a function is captured, else run at once.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>

#include "ir/build.h"
#include "sinter/operand.h"

namespace sinter::frontend {

/// Adds an operation on operands to a graph; ir/build.h has the functions that do it.
using Build = std::function<ir::Value(ir::Graph&, std::span<const ir::Operand>, const ir::Where&)>;

/// The operation on these operands. It is noted as written at the line of the first operand; errors print it.
Tensor dispatch(std::span<const Operand> operands, const Build& build);
inline Tensor dispatch(std::initializer_list<Operand> operands, const Build& build) {
  return dispatch(std::span(operands.begin(), operands.size()), build);
}

/// An operand as a node: a number becomes a constant of the dtype it has with no tensor about.
ir::Value as_value(ir::Graph& graph, const ir::Operand& operand, const ir::Where& where);

}  // namespace sinter::frontend
