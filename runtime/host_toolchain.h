// CPU kernels: the system's C++ compiler makes them, the dynamic linker loads them.
#pragma once

#include "runtime/host_compiler.h"
#include "runtime/kernel_loader.h"
#include "runtime/toolchain.h"

namespace sinter::runtime {

class HostKernel final : public LoadedKernel {
 public:
  using Entry = KernelEntry;

  HostKernel(std::shared_ptr<LoadedObject> object, const std::string& entry);

  Entry entry() const { return entry_; }

 private:
  std::shared_ptr<LoadedObject> object_;
  Entry entry_;
};

/// The function of a kernel that was loaded for the CPU.
inline KernelEntry host_entry(const LoadedKernel& kernel) {
  return static_cast<const HostKernel&>(kernel).entry();
}

class HostToolchain final : public Toolchain {
 public:
  explicit HostToolchain(DiskCache& cache) : compiler_(cache) {}

  const HostCompiler& compiler() const { return compiler_; }

  bool usable() const override { return compiler_.usable(); }
  const std::string& reason() const override { return compiler_.reason(); }
  std::string identity(const codegen::Target&) const override { return compiler_.identity(); }
  std::string compile(const KernelSpec& spec) const override {
    return compiler_.compile(spec.name, spec.source);
  }
  std::shared_ptr<const LoadedKernel> load(const KernelSpec& spec, std::string_view object) const override;

 private:
  HostCompiler compiler_;
};

}  // namespace sinter::runtime
