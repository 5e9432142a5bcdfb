#include "sinter/device.h"

#include "frontend/device_of.h"
#include "runtime/stream_scope.h"

namespace sinter {
namespace frontend {

runtime::Device& device_of(const Device& device) {
  return runtime::device(device.is_gpu() ? runtime::DeviceId::cuda(device.ordinal())
                                         : runtime::DeviceId::cpu());
}

Device public_device(const runtime::Device& device) {
  return device.is_cpu() ? Device("cpu") : Device::gpu(device.id().ordinal);
}

}  // namespace frontend

namespace {

int number_of(runtime::DeviceId id) {
  return id.is_cpu() ? -1 : id.ordinal;
}

}  // namespace

Device::Device() : gpu_(number_of(runtime::default_device().id())) {}

Device::Device(std::string_view name) : gpu_(number_of(runtime::device(runtime::parse_device(name)).id())) {}

Device Device::gpu(int ordinal) {
  Device device("cpu");
  device.gpu_ = runtime::device(runtime::DeviceId::cuda(ordinal)).id().ordinal;
  return device;
}

std::string Device::name() const {
  return frontend::device_of(*this).name();
}

std::string Device::description() const {
  return frontend::device_of(*this).description();
}

std::string Device::architecture() const {
  return is_gpu() ? frontend::device_of(*this).target().arch : "cpu";
}

StreamScope::StreamScope(void* cuda_stream, const Device& device)
    : impl_(runtime::enter_stream(frontend::device_of(device).id(), cuda_stream)) {}
StreamScope::~StreamScope() = default;

void synchronize() {
  runtime::synchronize_all();
}

}  // namespace sinter
