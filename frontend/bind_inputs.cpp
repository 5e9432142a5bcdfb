#include "frontend/bind_inputs.h"

#include <algorithm>

#include "frontend/tensor_impl.h"
#include "ir/base/check.h"

namespace sinter::frontend {

ir::Bindings solve_lengths(std::span<const ir::Shape> wanted,
                           std::span<const std::vector<std::int64_t>> given) {
  ir::Bindings bindings;
  // Lengths that are one symbol say most directly what it is; of others what is known by then helps: of
  // 2*M*N, with M.
  const auto solve = [&](bool alone) {
    const std::size_t before = bindings.size();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      for (int axis = 0; axis < std::min(wanted[i].rank(), static_cast<int>(given[i].size())); ++axis) {
        const ir::Dim& length = wanted[i][axis];
        if (const auto found = length.bind(bindings).solved_for(given[i][static_cast<std::size_t>(axis)]))
          if (!alone || length == ir::Dim::symbol(found->first)) bindings.insert(*found);
      }
    return bindings.size() > before;
  };
  solve(true);
  while (solve(false)) continue;
  return bindings;
}

ir::Bindings bind_inputs(const ir::Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size())
    fail<ValueError>("graph @{} has {} inputs, got {}", graph.name(), graph.inputs().size(), inputs.size());
  std::vector<ir::Shape> wanted;
  std::vector<std::vector<std::int64_t>> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    wanted.push_back(graph.shape(graph.inputs()[i]));
    given.push_back(inputs[i].shape());
  }
  ir::Bindings bindings = solve_lengths(wanted, given);
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
