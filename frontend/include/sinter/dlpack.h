// Exchange of tensors with other libraries through DLPack, without a copy.
#pragma once

#include <source_location>

#include "sinter/tensor.h"

struct DLManagedTensor;

namespace sinter {

/// The tensor as a DLManagedTensor of <dlpack/dlpack.h>, which shares its memory. Whoever takes it calls its
/// deleter once, and must not write to the memory. On a GPU the memory is ready for the stream on which the
/// tensor was made (see StreamScope), by default CUDA's default stream. Throws UnsupportedError inside a
/// compiled function.
DLManagedTensor* to_dlpack(const Tensor& x);

/// A tensor over the memory of `managed`, whose deleter is called once no tensor uses it. On a GPU the memory
/// must be ready for the stream of the moment. Throws ValueError for null, DTypeError for a type that sinter
/// does not have, DeviceError for memory that this build cannot reach; `managed` stays the caller's then.
Tensor from_dlpack(DLManagedTensor* managed, std::source_location where = std::source_location::current());

}  // namespace sinter
