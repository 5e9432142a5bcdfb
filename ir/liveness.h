// Which nodes of a graph are needed at all, and when the last reader of each is done.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace sinter::ir {

/// Entry of a node that no output depends on.
inline constexpr std::uint32_t never_read = ~0u;

/// For each node the id of the last node that reads it on the way to an output; the graph's size for an
/// output itself; never_read where no output depends on it.
std::vector<std::uint32_t> last_readers(const Graph& graph);

}  // namespace sinter::ir
