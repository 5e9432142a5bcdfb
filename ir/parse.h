// Reads the text form of a graph (see ir/print.h). What print() wrote comes back as the same graph; people
// may write more loosely: dtypes meet and shapes broadcast, axes may be negative, the functions' own names
// (multiply, astype) serve as well as the ops', calls nest, a line may have any name (%mean = ...), slices
// take Python's ranges (slice(%x, ranges=[1:, ::-1])), missing axes of a reduction are all of them, and '#'
// or "//" begin a comment.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ir/build.h"
#include "ir/graph.h"

namespace sinter::ir {

/// Throws ValueError naming `file`, line and column, with the line and a caret; a wrong shape, dtype or value
/// is the builder's own error with the place added.
Graph parse(std::string_view text, std::string_view file = {});

/// One expression over named values, such as the op table's derivatives: "mul(g, sub(1, mul(y, y)))". The
/// nodes are added to the graph; an expression that is only a number is a Literal.
Operand parse_expression(Graph& graph, std::string_view text,
                         const std::map<std::string, Value, std::less<>>& names);

}  // namespace sinter::ir
