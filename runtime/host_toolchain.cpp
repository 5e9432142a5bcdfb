#include "runtime/host_toolchain.h"

namespace sinter::runtime {

HostKernel::HostKernel(std::shared_ptr<LoadedObject> object, const std::string& entry)
    : object_(std::move(object)), entry_(reinterpret_cast<Entry>(object_->function(entry))) {}

std::shared_ptr<const LoadedKernel> HostToolchain::load(const KernelSpec& spec,
                                                        std::string_view object) const {
  return std::make_shared<const HostKernel>(LoadedObject::load(spec.name, object), spec.entry);
}

}  // namespace sinter::runtime
