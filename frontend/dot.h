// Graphs as DOT, for looking at with Graphviz: what was captured, what the passes made of it, what was fused.
//
// Names of nodes, clusters and attributes are generated (n3, k1_n3, cluster_k1); what users called things
// stands in labels only, with control characters and invalid UTF-8 spelled out and long names cut. Edges
// carry `shape`, `dtype` and `bytes`; in the fused picture an edge between kernels carries the `reason` that
// kept them apart, and a cluster, one per launch, its `schedule` and the `bytes` it moves. Written by
// libcgraph, so that every reader agrees.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "passes/partition.h"
#include "runtime/program.h"

namespace sinter::frontend {

/// One node per operation, constants written into those that use them. `stage` goes into the title.
std::string dot(const ir::Graph& graph, std::string_view stage = "captured");

/// The same with a cluster per group. Movement ops are drawn in each group that reads through them, and
/// values that are computed again appear once per group. `summaries` are one per group, or none.
std::string dot(const ir::Graph& graph, const passes::Partition& partition,
                std::span<const runtime::GroupSummary> summaries = {});

}  // namespace sinter::frontend
