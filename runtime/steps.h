// What a program does in one run, step by step, as devices carry it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/matmul.h"
#include "runtime/toolchain.h"

namespace sinter::runtime {

/// A parameter that is the address of an array of working memory.
struct ScratchPointer {
  int offset = 0;      // in the block of parameters
  std::size_t at = 0;  // bytes into the working memory, or into the counters
  bool counters = false;
};

/// One launch of a kernel. The block of parameters comes with each run.
struct KernelLaunch {
  const char* name = "";                // lives as long as the process
  std::int64_t units = 0;               // independent pieces; blocks of threads on CUDA
  std::int64_t grain = 1;               // pieces that one task takes; on the CPU
  int block_threads = 1;                // on CUDA
  int shared_bytes = 0;                 // of a block, beside what the kernel declares; on CUDA
  int cluster = 1;                      // blocks that work together, which divides the units; on CUDA
  int together = 1;                     // blocks that wait for each other; on CUDA
  bool early = false;                   // may start before the kernel before it has ended; on CUDA
  std::size_t scratch_bytes = 0;        // working memory beside counters
  bool shared_scratch = false;          // one for all threads; on the CPU
  std::size_t counter_bytes = 0;        // of counters, which are 0 before and after; on CUDA
  std::vector<ScratchPointer> scratch;  // on CUDA
  int phases = 1, phase_offset = -1;    // -1: the kernel does not ask for the phase
};

/// One product of a library, for each matrix of a batch with one stride.
struct MatmulLaunch {
  DType dtype;
  MatmulShape shape;
  StridedMatrix a, b;
  MutableMatrix c;
  const void* bias = nullptr;  // n elements, added to every row; on CUDA
};

/// The name, kept for as long as the process lives, so that an error found late can still say it.
const char* lasting_name(const std::string& name);

}  // namespace sinter::runtime
