#include "frontend/bind_inputs.h"

#include <algorithm>

#include "frontend/tensor_impl.h"
#include "ir/base/check.h"

namespace sinter::frontend {

ir::Bindings bind_inputs(const ir::Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size())
    fail<ValueError>("graph @{} has {} inputs, got {}", graph.name(), graph.inputs().size(), inputs.size());
  ir::Bindings bindings;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Shape& wanted = graph.shape(graph.inputs()[i]);
    const std::vector<std::int64_t> given = inputs[i].shape();
    for (int axis = 0; axis < std::min(wanted.rank(), static_cast<int>(given.size())); ++axis) {
      std::vector<std::string> symbols;
      wanted[axis].collect_symbols(symbols);
      if (symbols.size() == 1 && wanted[axis] == ir::Dim::symbol(symbols[0]))
        bindings.emplace(symbols[0], given[static_cast<std::size_t>(axis)]);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value v = graph.inputs()[i];
    const ir::Attrs& attrs = graph.attrs(v);
    if (graph.dtype(v) != inputs[i].dtype())
      fail<DTypeError>("graph @{}: input %{} is {}, got {}", graph.name(), attrs.name, name(graph.dtype(v)),
                       describe(inputs[i]));
    if (!(graph.shape(v).bind(bindings) == impl_of(inputs[i]).shape))
      fail<ShapeError>("graph @{}: input %{} has the shape {}, got {}", graph.name(), attrs.name,
                       graph.shape(v).str(), describe(inputs[i]));
  }
  return bindings;
}

}  // namespace sinter::frontend
