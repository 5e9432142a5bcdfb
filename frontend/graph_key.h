// Graphs as keys: the same bytes for the same nodes and outputs, whatever lines they come from.
#pragma once

#include <string>

#include "ir/graph.h"

namespace sinter::frontend {

/// Bytes that are equal exactly for equal graphs.
std::string graph_key(const ir::Graph& graph);

/// Says where two graphs differ first, both nodes in words; empty when they are equal.
std::string first_difference(const ir::Graph& before, const ir::Graph& now);

/// Appends a number, or a list with its length, as bytes.
void append(std::string& key, std::int64_t value);

}  // namespace sinter::frontend
