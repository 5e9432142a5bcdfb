// Shared objects that exist only as bytes: loading them into the process and finding a function in them.
//
// The bytes go into an anonymous file in memory, which also works where every writable directory is mounted
// noexec; where the system refuses that (no /proc, vm.memfd_noexec), into a private temporary file that is
// gone once it is loaded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace sinter::runtime {

/// A loaded shared object. It is unloaded when the last pointer to it goes, so whoever holds the address of
/// one of its functions holds such a pointer too.
class LoadedObject {
 public:
  /// `name` is shown by debuggers and profilers and in errors. Throws CompileError, with what was tried, if
  /// the object cannot be loaded.
  static std::shared_ptr<LoadedObject> load(const std::string& name, std::string_view bytes);

  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  ~LoadedObject();

  /// The address of a function with C linkage. Throws CompileError if there is none of that name.
  void* function(const std::string& symbol) const;

 private:
  LoadedObject(std::string name, void* handle);

  std::string name_;
  void* handle_;
};

}  // namespace sinter::runtime
