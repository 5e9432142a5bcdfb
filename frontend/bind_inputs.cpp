#include "frontend/bind_inputs.h"

#include <algorithm>

#include "frontend/tensor_impl.h"
#include "ir/base/check.h"

namespace sinter::frontend {

ir::Bindings bind_inputs(const ir::Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size())
    fail<ValueError>("graph @{} has {} inputs, got {}", graph.name(), graph.inputs().size(), inputs.size());
  ir::Bindings bindings;
  // Lengths that are one symbol say most directly what it is; of others what is known by then helps: of
  // 2*M*N, with M.
  const auto solve = [&](bool alone) {
    const std::size_t before = bindings.size();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ir::Shape& wanted = graph.shape(graph.inputs()[i]);
      const std::vector<std::int64_t> given = inputs[i].shape();
      for (int axis = 0; axis < std::min(wanted.rank(), static_cast<int>(given.size())); ++axis)
        if (const auto found = wanted[axis].bind(bindings).solved_for(given[static_cast<std::size_t>(axis)]))
          if (!alone || wanted[axis] == ir::Dim::symbol(found->first)) bindings.insert(*found);
    }
    return bindings.size() > before;
  };
  solve(true);
  while (solve(false)) continue;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value v = graph.inputs()[i];
    const ir::Attrs& attrs = graph.attrs(v);
    if (graph.dtype(v) != inputs[i].dtype())
      fail<DTypeError>("graph @{}: input %{} is {}, got {}", graph.name(), attrs.name, name(graph.dtype(v)),
                       describe(inputs[i]));
    if (!(graph.shape(v).bind(bindings) == impl_of(inputs[i]).shape()))
      fail<ShapeError>("graph @{}: input %{} has the shape {}, got {}", graph.name(), attrs.name,
                       graph.shape(v).str(), describe(inputs[i]));
  }
  return bindings;
}

}  // namespace sinter::frontend
