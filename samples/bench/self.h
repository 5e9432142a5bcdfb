// The program running itself, as a fresh process.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace bench {

/// Runs this very program with the arguments, and variables added to the environment; returns what it prints.
/// Its errors go where ours go. Throws std::runtime_error unless it exits with 0.
std::string run_self(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& environment);

}  // namespace bench
