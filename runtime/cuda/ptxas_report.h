// What ptxas says that a kernel uses: the last step of a compilation to a cubin writes it into the log.
#pragma once

#include <optional>
#include <string_view>

namespace sinter::runtime {

struct PtxasReport {
  int registers = 0;     // per thread
  int spill_bytes = 0;   // stores and loads of spilled registers, per thread
  int stack_bytes = 0;   // per thread
  int shared_bytes = 0;  // per block, declared by the kernel
};

/// Reads the log of a compilation with --ptxas-options=-v of one kernel; nothing if it has no such lines.
std::optional<PtxasReport> read_ptxas_report(std::string_view log);

}  // namespace sinter::runtime
