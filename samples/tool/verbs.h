// The verbs of the tool. Each function adds one, or a few that belong together, to the command line; parsing
// it then runs the verb. The files have a verb's options and what it does side by side.
#pragma once

#include <CLI/CLI.hpp>

namespace tool {

void add_list(CLI::App& app);
void add_run(CLI::App& app);
void add_bench(CLI::App& app);
/// dot, explain, source, compile
void add_looking_verbs(CLI::App& app);
void add_cache(CLI::App& app);
/// doctor, ops, env
void add_reference_verbs(CLI::App& app);

}  // namespace tool
