// A process that has used CUDA cannot use it again in a child made by fork(): the driver's threads and memory
// are not there.
#pragma once

namespace sinter::runtime::cuda {

/// To be called before CUDA is first used.
void note_use();

/// Whether this process was made by fork() after CUDA had been used.
bool is_forked();

}  // namespace sinter::runtime::cuda
