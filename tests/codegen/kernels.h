// Kernels of graphs in text form, for tests of what lies between the fuser and the compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/device.h"
#include "codegen/lower.h"
#include "codegen/schedule.h"
#include "codegen/source.h"
#include "ir/parse.h"
#include "passes/partition.h"

namespace sinter::testing {

/// The kernels of a graph as it is written: no pass but the fuser has seen it.
inline std::vector<codegen::Kernel> kernels_of(const ir::Graph& g, const passes::InputStrides& strides = {}) {
  std::vector<std::optional<ir::View>> views = passes::memory_views(g, strides);
  const passes::Partition partition = passes::fuse(g, strides);
  for (const passes::Group& group : partition.groups)
    for (ir::Value v : group.outputs) views[v.id] = ir::View{v, 0, ir::contiguous_strides(g.shape(v))};
  std::vector<codegen::Kernel> kernels;
  for (const passes::Group& group : partition.groups)
    if (group.kind == passes::GroupKind::kernel) kernels.push_back(codegen::lower(g, group, views));
  return kernels;
}

/// The only kernel of a graph with these inputs and this body.
inline codegen::Kernel kernel_of(std::string_view inputs, std::string_view body,
                                 const passes::InputStrides& strides = {}) {
  const ir::Graph g =
      ir::parse(std::string("graph @g(").append(inputs).append(" {\n  ").append(body).append("\n}\n"));
  const std::vector<codegen::Kernel> kernels = kernels_of(g, strides);
  if (kernels.size() != 1)
    throw std::runtime_error("the graph has " + std::to_string(kernels.size()) + " kernels");
  return kernels[0];
}

inline codegen::Schedule schedule_of(const codegen::Kernel& kernel, const codegen::Target& target) {
  return codegen::choose_schedule(kernel, codegen::describe(target));
}

inline codegen::KernelSource source_of(const codegen::Kernel& kernel, const codegen::Target& target) {
  return codegen::emit(kernel, schedule_of(kernel, target), target);
}

}  // namespace sinter::testing
