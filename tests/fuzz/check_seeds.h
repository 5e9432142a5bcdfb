// Something that must hold for random graphs.
#pragma once

#include <cstdint>

#include "ir/print.h"
#include "tests/catch.h"
#include "tests/support/random_graph.h"

namespace sinter::testing {

inline RandomGraphOptions small_graphs() {
  RandomGraphOptions options;
  options.nodes = 8;
  options.elements = 2048;
  return options;
}

/// Runs `wrong` on graphs from these seeds and reports the first failure, minimised.
template <class Wrong>
void check_seeds(std::uint64_t from, std::uint64_t to, const RandomGraphOptions& options, Wrong&& wrong) {
  for (std::uint64_t seed = from; seed < to; ++seed) {
    const ir::Graph g = random_graph(seed, options);
    const std::string text = wrong(g, seed);
    if (text.empty()) continue;
    const ir::Graph least = minimize(g, [&](const ir::Graph& h) { return !wrong(h, seed).empty(); });
    FAIL("seed " << seed << ": " << text << "\nleast graph: " << wrong(least, seed) << "\n"
                 << ir::print(least));
  }
}

/// The same on small graphs over everything.
template <class Wrong>
void check_seeds(std::uint64_t from, std::uint64_t to, Wrong&& wrong) {
  check_seeds(from, to, small_graphs(), wrong);
}

}  // namespace sinter::testing
