// A kernel as source text, with what is needed to call it.
#pragma once

#include <string>
#include <vector>

#include "codegen/schedule.h"

namespace sinter::codegen {

/// One field of the parameter block that a kernel is called with, in order and at C's natural offsets.
struct KernelParam {
  enum class Kind : std::uint8_t { buffer, length, literal, phase, scratch };
  Kind kind;
  std::string name;
  int offset = 0;      // bytes from the start of the block
  int buffer = -1;     // buffer: the kernel's buffer whose address it is; scratch: the number of the array
  std::string type;    // scratch: of the elements
  ir::Dim length;      // length: extents, strides, offsets; an `index` wide
  ir::Scalar literal;  // literal; phase: an int64 that counts the phases of one launch
};

/// Working memory of a kernel. Counters are 0 before a launch, and the launch leaves them so.
struct ScratchArray {
  int element_bytes;
  ir::Dim elements;
  bool counters = false;
};

/// How many calls of its loop body a kernel is split into, and what each costs, for dividing the work.
struct KernelSource {
  std::string name;  // of the function, and what it fuses: "fused_mul_tanh_add"
  std::string
      header;        // a comment for people: ops, shapes, schedule, bytes; not compiled, not part of any key
  std::string text;  // the whole source
  Target target;
  Schedule schedule;
  std::vector<KernelParam> params;
  int param_bytes = 0;
  int index_bytes = 8;
  ir::Dim units;          // independent pieces: elements, blocks of elements, or rows; grid size on CUDA
  int shared_bytes = 0;   // on CUDA: of a block, which the launch gives it beside what the text declares
  int cluster = 1;        // on CUDA: blocks that work together; divides the units
  int together = 1;       // on CUDA: blocks that wait for each other, of which the device must hold so many
  bool early = false;     // on CUDA: may start before the kernel before it has ended, for which it waits
  ir::Dim unit_elements;  // elements of the domain in one piece
  std::vector<ScratchArray> scratch;  // one array after the other, each at a multiple of 64 bytes; on CUDA
                                      // the launch has one set, and parameters with the addresses
  bool shared_scratch = false;  // CPU: one for all threads, kept between phases; else one for each thread
  int phases = 1;               // runs over all pieces, each after the one before is done
};

/// Prints the kernel under the schedule: C++ for the CPU, CUDA C++ otherwise.
KernelSource emit(const Kernel& kernel, const Schedule& schedule, const Target& target);

}  // namespace sinter::codegen
