#include "sinter/dlpack.h"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "frontend/errors.h"
#include "frontend/tensor_impl.h"
#include "ir/base/check.h"
#include "sinter/create.h"

namespace sinter {
namespace {

/// What a DLManagedTensor of ours keeps alive.
struct Exported {
  DLManagedTensor managed{};
  Tensor tensor;
  std::vector<std::int64_t> shape, strides;
};

DLDataType dl_type(DType t) {
  const auto bits = static_cast<std::uint8_t>(size_of(t) * 8);
  if (t == DType::bf16) return {kDLBfloat, bits, 1};
  // The header of Debian 12 has no kDLBool (6); bool travels as that code in later ones.
  if (t == DType::boolean) return {6, bits, 1};
  if (is_float(t)) return {kDLFloat, bits, 1};
  return {static_cast<std::uint8_t>(t == DType::uint8 ? kDLUInt : kDLInt), bits, 1};
}

std::optional<DType> our_type(DLDataType t) {
  for (const DType ours : all_dtypes) {
    const DLDataType candidate = dl_type(ours);
    if (candidate.code == t.code && candidate.bits == t.bits && t.lanes == 1) return ours;
  }
  return std::nullopt;
}

Device device_of(DLDevice device) {
  if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost) return Device("cpu");
  if (device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged)
    return Device::gpu(device.device_id);
  fail<DeviceError>(
      "from_dlpack: the memory is on device type {}, which sinter does not reach; it has the CPU "
      "and CUDA",
      static_cast<int>(device.device_type));
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& x) {
  const runtime::TensorView view = frontend::view_of(x);
  auto exported = std::make_unique<Exported>();
  exported->tensor = x;
  exported->shape = view.shape;
  exported->strides = view.strides;
  DLTensor& dl = exported->managed.dl_tensor;
  dl.data = view.data;
  const runtime::DeviceId id = view.buffer->device().id();
  dl.device = {id.is_cpu() ? kDLCPU : kDLCUDA, id.ordinal};
  dl.ndim = static_cast<std::int32_t>(view.shape.size());
  dl.dtype = dl_type(view.dtype);
  dl.shape = exported->shape.data();
  dl.strides = exported->strides.data();
  dl.byte_offset = 0;
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return &exported.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed, std::source_location where) {
  const auto [device, dtype] = frontend::with_location(where, [&] {
    if (!managed) fail<ValueError>("from_dlpack: the DLManagedTensor is null");
    const DLDataType& type = managed->dl_tensor.dtype;
    const std::optional<DType> ours = our_type(type);
    if (!ours)
      fail<DTypeError>("from_dlpack: type code {} with {} bits and {} lanes has no counterpart",
                       int{type.code}, int{type.bits}, int{type.lanes});
    return std::pair(device_of(managed->dl_tensor.device), *ours);
  });
  const DLTensor& dl = managed->dl_tensor;
  const Shape shape(dl.shape, dl.shape + dl.ndim);
  const Shape strides = dl.strides ? Shape(dl.strides, dl.strides + dl.ndim) : frontend::row_major(shape);
  return from_device(
      static_cast<std::byte*>(dl.data) + dl.byte_offset, shape, strides, dtype,
      [managed](void*) {
        if (managed->deleter) managed->deleter(managed);
      },
      device, where);
}

}  // namespace sinter
