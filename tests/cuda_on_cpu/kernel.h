// A kernel's CUDA text as a function of the host: compiled by g++ with the host's part of its prelude, and
// instrumented, so that every access to memory and every undefined operation is heard of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel_loader.h"
#include "tests/cuda_on_cpu/hooks.h"
#include "tests/cuda_on_cpu/memory.h"

namespace sinter::testing::cuda_on_cpu {

class Kernel {
 public:
  /// `text` is what NVRTC would get, with one kernel of this name that takes one `Params` by value. Compiled
  /// at most once in a process, and kept on disk for the next one. Throws CompileError.
  static std::shared_ptr<const Kernel> compile(const std::string& name, const std::string& text);

  const std::string& name() const { return name_; }
  /// Runs one thread, on the stack it is called on.
  void run_thread(const void* params) const { entry_(params); }
  LaunchIndices connect(const Hooks& hooks) const { return connect_(&hooks); }
  /// Arrays that the text declares as __shared__.
  const std::vector<Region>& shared_arrays() const { return shared_; }

  /// "line 31: sync_block();", or "" for a line that the text does not have.
  std::string line(unsigned number) const;
  /// The same for an address in the kernel's code.
  std::string line_at(const void* code) const;

 private:
  Kernel(std::string name, std::string text, std::string object);
  void find_shared_arrays();

  std::string name_, text_, bytes_;
  std::shared_ptr<runtime::LoadedObject> object_;
  void (*entry_)(const void* params);
  LaunchIndices (*connect_)(const Hooks* hooks);
  std::vector<Region> shared_;
};

}  // namespace sinter::testing::cuda_on_cpu
