// What makes a kernel that can be called out of its source, one class per backend: the kernel cache knows
// kernels by this interface alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "codegen/target.h"

namespace sinter::runtime {

struct KernelSpec {
  std::string name;    // for messages only
  std::string key;     // the source without its header comment: two specs of one key and entry are one kernel
  std::string source;  // what is compiled
  std::string entry;   // the function with C linkage to call
  codegen::Target target = codegen::Target::cpu();
  int device = 0;  // the GPU on which loading is tried, one of the target's architecture; no part of the key
};

/// A kernel that can be called; its code stays loaded as long as the object lives. Which class it is follows
/// from the target's backend: HostKernel or CudaKernel.
class LoadedKernel {
 public:
  LoadedKernel() = default;
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  virtual ~LoadedKernel() = default;
};

class Toolchain {
 public:
  virtual ~Toolchain() = default;

  /// Whether it can compile at all; if not, reason() says why.
  virtual bool usable() const = 0;
  virtual const std::string& reason() const = 0;

  /// Whatever else than the source decides what comes out for a target: compiler, version, options, and the
  /// processor or architecture.
  virtual std::string identity(const codegen::Target& target) const = 0;

  /// The object for the spec's source. Throws CompileError, with all that its reader needs to repeat it, and
  /// DeviceError where the compiler is not there.
  virtual std::string compile(const KernelSpec& spec) const = 0;

  /// Makes the object callable. Throws CompileError where the system or the driver refuses it.
  virtual std::shared_ptr<const LoadedKernel> load(const KernelSpec& spec, std::string_view object) const = 0;
};

}  // namespace sinter::runtime
