// The system's C++ compiler, which turns the source of a CPU kernel into a shared object.
//
// It is looked for and tried once: a small kernel is compiled, loaded and called. One that is missing,
// broken, hangs or writes without end is "no compiler", with the reason in words; nothing is thrown then,
// since the evaluator can do its work. The name of a compiler comes from the user's environment and never
// reaches a shell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/disk_cache.h"
#include "runtime/private_directory.h"

namespace sinter::runtime {

/// How the entry of every CPU kernel is called; `scratch` is the calling thread's.
using KernelEntry = void (*)(const void* params, std::int64_t begin, std::int64_t end, void* scratch);

class HostCompiler {
 public:
  /// Takes the first compiler that works out of SINTER_CXX, or $CXX, c++, g++ and clang++. The object of the
  /// trial is kept in `cache`, so that the next process only has to load it, and needs no temporary
  /// directory.
  explicit HostCompiler(DiskCache& cache);

  bool usable() const { return !program_.empty(); }

  /// Why there is none, naming what was tried; empty if there is one.
  const std::string& reason() const { return reason_; }

  /// What the reason explains, in words: that there is none, or that none can be tried.
  const char* fault() const {
    return no_directory_.empty() ? "there is no C++ compiler" : "no C++ compiler can be run";
  }

  /// Program, version, options and the processor that code is made for: whatever else than the source decides
  /// what comes out.
  const std::string& identity() const { return identity_; }

  /// The program with the arguments that the user's setting gives it.
  const std::vector<std::string>& program() const { return program_; }

  /// Compiles `source` and returns the shared object. Throws CompileError, with the kernel's name, the first
  /// error and its source line, the path of the saved source, and a command that repeats it. Safe to call
  /// from several threads.
  std::string compile(const std::string& kernel, const std::string& source) const;

 private:
  /// Returns why the candidate cannot be used, or takes it and returns an empty text.
  std::string try_candidate(const std::vector<std::string>& program, DiskCache& cache);
  /// The object of the trial, or an empty text with the fault, and whether other options may do better.
  /// The directory is made where there is something to compile.
  std::string compile_trial(std::optional<PrivateDirectory>& directory, DiskCache& cache, std::string& fault,
                            bool& hopeless);

  std::vector<std::string> program_, options_, libraries_;
  std::string identity_, reason_;
  std::string no_directory_;  // why no temporary directory could be made for a trial
};

/// The processor's model and feature flags as one line, as far as the system says them.
std::string processor_identity();

}  // namespace sinter::runtime
