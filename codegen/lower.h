// From a group of the partition to the kernel IR: every node of the group at every index at which it is
// needed.
#pragma once

#include "codegen/kernel.h"
#include "passes/partition.h"

namespace sinter::codegen {

/// `views` are passes::memory_views of the graph. Movement ops become index maps in the addresses of loads;
/// pad, concat and gathers become guarded loads and selections. Afterwards neighbouring axes that no address
/// tells apart are one, and axes of length 1 are gone (codegen/collapse.h).
/// `forms` are passes::math_forms of the graph; where there are none, every function is the portable one.
Kernel lower(const ir::Graph& graph, const passes::Group& group,
             const std::vector<std::optional<ir::View>>& views,
             const std::vector<passes::MathForm>& forms = {});

}  // namespace sinter::codegen
