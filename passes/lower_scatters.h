// Scatters by index, written as sums over segments of the slices in the order of their indices: what the
// kernels of all devices do without atomic operations, and so with the same bits at every run.
#pragma once

#include "passes/pass.h"

namespace sinter::passes {

/// Afterwards no node of the graph is a scatter by index. Slices are ordered by sorting keys of index and
/// position, so that those of one index stay in their order: tiles of keys by counting, for each, how many
/// are less, then by merging sorted runs, twice as long each time. The lengths of the index and of the
/// scattered axis must be known; throws UnsupportedError for others, and beyond 2^31.
ir::Graph lower_scatters(const ir::Graph& graph, const PassContext& context);

}  // namespace sinter::passes
