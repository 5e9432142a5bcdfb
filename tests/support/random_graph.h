// Random graphs over every family, dtype and layout, inputs for them, and the way from a graph that fails to
// a small one that still does.
//
//     const ir::Graph g = random_graph(seed);
//     if (!holds(g)) FAIL(ir::print(minimize(g, [&](const ir::Graph& h) { return !holds(h); })));
//
// The seed and the printed graph are all that is needed to see a failure again: inputs come from a seed, too.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"

namespace sinter::testing {

struct RandomGraphOptions {
  int nodes = 20;  // operations asked for; casts and broadcasts add some
  int rank = 4;    // at most
  std::vector<std::int64_t> lengths{1, 2, 3, 5, 8, 16, 17, 33};  // of axes; 0 may be among them
  std::int64_t elements = 4096;                                  // at most, of any value
  std::vector<DType> dtypes{all_dtypes.begin(), all_dtypes.end()};
  std::vector<ir::Family> families{ir::Family::elementwise, ir::Family::reduction, ir::Family::movement,
                                   ir::Family::gather,      ir::Family::scatter,   ir::Family::search,
                                   ir::Family::contraction, ir::Family::generator};
  bool exact_only =
      false;  // elementwise ops that are exact in every mode, so that results can be compared in bits
};

/// Verified; inputs first, one to four outputs. The same seed and options give the same graph everywhere.
ir::Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// One array per input: numbers of moderate size, and with this share special ones (zeros of both signs,
/// infinities, NaN, subnormals, the extremes). Indices are mostly in range of short axes.
std::vector<ir::Array> random_inputs(const ir::Graph& graph, std::uint64_t seed, double special = 0.05);

/// A smaller graph for which `fails` still holds: outputs dropped, nodes replaced by inputs or by their
/// operands, axes shortened, for as long as that helps. `fails` must hold for `graph`, and must not throw.
ir::Graph minimize(const ir::Graph& graph, const std::function<bool(const ir::Graph&)>& fails);

}  // namespace sinter::testing
