// Which values are memory of their own, and which are views of it.
#include "passes/copy_operands.h"
#include "passes/partition.h"

namespace sinter::passes {
namespace {

using ir::Op;
using ir::Value;
using Views = std::vector<std::optional<ir::View>>;

Views views_with(const ir::Graph& g, const std::vector<const std::vector<std::int64_t>*>& given,
                 const std::vector<bool>& copied) {
  return ir::views_of(g, [&](Value v) -> std::optional<std::vector<ir::Dim>> {
    if (given[v.id]) return std::vector<ir::Dim>(given[v.id]->begin(), given[v.id]->end());
    if (g.op(v) == Op::input || is_computed(g.op(v)) || copied[v.id])
      return ir::contiguous_strides(g.shape(v));
    return std::nullopt;
  });
}

}  // namespace

Views memory_views(const ir::Graph& g, const InputStrides& inputs, const ProductLibrary& library) {
  std::vector<const std::vector<std::int64_t>*> given(g.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) given[g.inputs()[i].id] = &inputs[i];
  std::vector<bool> copied(g.size(), false);
  Views views = views_with(g, given, copied);
  if (library.any_strides) return views;
  // A copy changes the views of what moves it further, so it can take several rounds; most take one.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t id = 0; id < g.size(); ++id) {
      if (g.op(Value{id}) != Op::matmul) continue;
      for (Value v : g.operands(Value{id}))
        if (ir::is_movement(g.op(v)) && !copied[v.id] && views[v.id] &&
            !is_dense_matrix(g.shape(v), views[v.id]->strides))
          copied[v.id] = changed = true;
    }
    if (changed) views = views_with(g, given, copied);
  }
  return views;
}

}  // namespace sinter::passes
