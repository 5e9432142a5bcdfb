// Having a thread's programs run on a stream of the user's.
#pragma once

#include <memory>

#include "runtime/device_id.h"

namespace sinter::runtime {

/// While it lives, this thread's work on the device runs on the stream. Scopes nest, and end in the reverse
/// order.
class StreamScope {
 public:
  virtual ~StreamScope() = default;
};

/// `stream` is a cudaStream_t of the device. Throws DeviceError for the CPU, which has no streams.
std::unique_ptr<StreamScope> enter_stream(DeviceId device, void* stream);

}  // namespace sinter::runtime
