#include "sinter/device.h"

#include "ir/base/check.h"
#include "ir/base/settings.h"

namespace sinter {
namespace {

std::string checked(std::string_view name) {
  if (name == "cpu") return "cpu";
  if (name == "cuda")
    fail<DeviceError>(
        "device cuda: this build of sinter has no CUDA backend; use Device(\"cpu\"), or lower() a "
        "function for Target(\"sm_90a\") to see its CUDA source");
  fail<DeviceError>("there is no device \"{}\"; devices are \"cpu\" and \"cuda\"", name);
}

}  // namespace

Device::Device() : name_(checked(settings().device == "auto" ? "cpu" : settings().device)) {}

Device::Device(std::string_view name) : name_(checked(name)) {}

void synchronize() {}

}  // namespace sinter
