// The one way into every operation: recorded while a function is captured, else run at once.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>

#include "ir/build.h"
#include "sinter/operand.h"

namespace sinter::frontend {

/// Adds an operation on operands to a graph; ir/build.h has the functions that do it.
using Build = std::function<ir::Value(ir::Graph&, std::span<const ir::Operand>, const ir::Where&)>;

/// The operation on these operands. It is noted as written at the line of the first operand; errors print it.
///
/// `known` are bytes that say all that `build` does; nothing where that is not worth while. They let an
/// operation that ran before on operands of the same kinds run again without a graph being built.
Tensor dispatch(std::span<const Operand> operands, const Build& build, std::string_view known = {});
inline Tensor dispatch(std::initializer_list<Operand> operands, const Build& build,
                       std::string_view known = {}) {
  return dispatch(std::span(operands.begin(), operands.size()), build, known);
}

/// An operand as a node: a number becomes a constant of the dtype it has with no tensor about.
ir::Value as_value(ir::Graph& graph, const ir::Operand& operand, const ir::Where& where);

}  // namespace sinter::frontend
