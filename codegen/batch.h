// Several instances of one kernel in one launch: the blocks of the grid are divided among them. The kernel's
// text takes the parameters of each by value, and every block finds the instance that it works on.
#pragma once

#include <string>
#include <string_view>

#include "codegen/schedule.h"
#include "codegen/source.h"

namespace sinter::codegen {

/// Whether the kernel can share a launch with others of its text: each of its blocks works for itself.
/// Lengths are numbers.
bool can_share_launch(const Kernel& kernel, const KernelSource& source);

/// How many instances with parameters of so many bytes a launch can take: every driver passes 4096 bytes.
int most_instances(int param_bytes);

/// For how many the text is printed that serves so many: one for each power of two, and one for the most.
int batch_for(int instances, int param_bytes);

/// Where the numbers of the blocks lie behind the parameters of a batch of instances, and the bytes of both.
int first_blocks_offset(int batch, int param_bytes);
int batch_bytes(int batch, int param_bytes);

/// "struct Params" over that of one instance, "struct Instance".
std::string batch_struct(int batch);
/// What a block declares first: the parameters of its instance, and its number among the blocks of that.
std::string batch_locals(const Schedule& schedule);
/// The number of a block in a kernel's text.
std::string_view block_number(const Schedule& schedule);

}  // namespace sinter::codegen
