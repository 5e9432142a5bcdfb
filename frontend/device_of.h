// Public devices and those of the runtime.
#pragma once

#include <string_view>

#include "frontend/tensor_impl.h"
#include "runtime/device.h"
#include "sinter/device.h"

namespace sinter::frontend {

runtime::Device& device_of(const Device& device);
Device public_device(const runtime::Device& device);

/// Which device a program runs on: the one that its inputs are on.
class CommonDevice {
 public:
  /// Notes an input. Numbers and generators go wherever they are used. Throws DeviceError, naming both
  /// tensors, if another one is elsewhere.
  void add(const Tensor& x, std::string_view what);
  /// The device; the default one where no input has told.
  runtime::Device& get() const { return device_ ? *device_ : runtime::default_device(); }
  bool is_known() const { return device_ != nullptr; }

 private:
  runtime::Device* device_ = nullptr;
  Tensor first_;
};

/// The tensor, which is in memory, as a program on the device takes it: a number is put there.
Tensor on_device(const Tensor& x, runtime::Device& device);

/// A contiguous tensor with a copy of elements in host memory, in row-major order.
Tensor from_host(DType dtype, std::vector<std::int64_t> shape, const void* elements, runtime::Device& device);

/// The only element, or the element (0, ..., 0).
ir::Scalar first_element(const Tensor& x, std::string_view wanted);

}  // namespace sinter::frontend
