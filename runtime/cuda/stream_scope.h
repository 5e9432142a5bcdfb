// The streams that threads have chosen for their work.
#pragma once

#include <memory>

#include "runtime/stream_scope.h"

namespace sinter::runtime {
class Stream;
}

namespace sinter::runtime::cuda {

class CudaDevice;

/// The stream of the innermost scope of this thread for the device; null outside of them.
const std::shared_ptr<Stream>* chosen_stream(CudaDevice& device);

std::unique_ptr<StreamScope> enter_stream(int ordinal, void* stream);

}  // namespace sinter::runtime::cuda
