// The machine a benchmark ran on, for its table.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// Threads that run kernels, as sinter counts them.
int thread_count();

/// Processor, cores, versions of sinter, the compiler and OpenBLAS, and the date; one line each.
std::vector<std::string> describe_machine();

}  // namespace bench
