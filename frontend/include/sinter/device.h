// Where tensors live and programs run.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

/// A device by its name. This version has "cpu"; any other name is refused with a DeviceError that says what
/// is missing, and is never passed off as the CPU.
class Device {
 public:
  /// The device where tensors are created unless told otherwise; the setting SINTER_DEVICE chooses it.
  Device();
  explicit Device(std::string_view name);

  const std::string& name() const { return name_; }
  friend bool operator==(const Device&, const Device&) = default;

 private:
  std::string name_;
};

/// Waits until everything started so far has run, and throws what went wrong in it. Programs on the CPU have
/// run when the call returns, so that there it returns at once.
void synchronize();

}  // namespace sinter
