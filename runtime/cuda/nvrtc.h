// NVIDIA's run-time compiler: CUDA source to the machine code of one architecture, with no GPU or driver.
//
// The library is found when it is first needed (SINTER_NVRTC, find_library.h). Compilations from several
// threads run side by side.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sinter::runtime {

/// What NVRTC made of one kernel.
struct CudaCode {
  std::string image;  // a cubin; PTX, which the driver compiles, for architectures that NVRTC does not know
  std::string ptx;
  std::string log;  // with what ptxas says of registers, spills and shared memory, for a cubin
  int compilations = 1;
};

class Nvrtc {
 public:
  /// Looks for the library as the settings say, and refuses one that is too old.
  Nvrtc();
  ~Nvrtc();

  bool usable() const { return library_ != nullptr; }
  /// Why there is none, naming what was searched; empty if there is one.
  const std::string& reason() const { return reason_; }
  /// The file of the library.
  const std::string& path() const { return path_; }
  /// "13.0"
  std::string version() const;

  /// The architectures it compiles for: 75, 80, ..., in order.
  const std::vector<int>& architectures() const { return architectures_; }

  /// What to compile for, so that the GPU of an architecture can run it: "sm_90a" itself where NVRTC knows
  /// it, else "compute_NN" for PTX of the newest plain architecture that is not newer. Throws DeviceError for
  /// a GPU older than all that NVRTC knows, and without NVRTC; ValueError for what names no architecture.
  std::string code_for(std::string_view arch) const;

  /// All options of a compilation, but what code_for(arch) gives: a part of the kernels' identity.
  std::string options() const;

  /// Compiles `source`, whose kernel is `kernel`, for a GPU of that architecture; once more, with more
  /// registers for each thread, if that spills a few. Throws CompileError with
  /// the kernel's name, the first error and its source line, the path of the saved source, and a command that
  /// repeats it; DeviceError without NVRTC or its builtins.
  CudaCode compile(const std::string& kernel, const std::string& source, const std::string& arch) const;

  /// Compiles a row kernel of the usual kind for that architecture, after which the first one that counts
  /// takes no longer than later ones. Throws as compile() does.
  void warm_up(const std::string& arch) const;

 private:
  class Library;  // its functions
  struct Outcome;

  Outcome run(const std::string& kernel, const std::string& source, const std::string& code,
              std::vector<std::string> options) const;
  Outcome run_here(const std::string& kernel, const std::string& source, const std::string& code,
                   std::vector<std::string> options) const;

  std::vector<std::string> option_list() const;

  std::unique_ptr<const Library> library_;
  std::string reason_, path_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;
};

/// The process's own, found at its first use.
const Nvrtc& nvrtc();

/// Finds it and warms it up for an architecture in a thread of its own. What goes wrong, its first user is
/// told.
std::jthread start_nvrtc(std::string arch);

}  // namespace sinter::runtime
