// The machine a benchmark ran on, for its table.
#pragma once

#include <sinter/device.h>

#include <string>
#include <vector>

namespace bench {

/// Threads that run kernels, as sinter counts them.
int thread_count();

/// The device with what its programs depend on, the version of sinter, and the date; one line each.
std::vector<std::string> describe_machine(const sinter::Device& device);

}  // namespace bench
