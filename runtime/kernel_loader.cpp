#include "runtime/kernel_loader.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "ir/base/check.h"
#include "runtime/file.h"
#include "runtime/private_directory.h"

namespace sinter::runtime {
namespace {

/// A path to the open file that no earlier call has returned. The dynamic linker takes two objects of one
/// path for the same one, and file numbers are used again; so the number of the call is spelled into the
/// path, a bit each as
/// "//" or "/./", which changes nothing for the kernel.
std::string fresh_path(const FileDescriptor& file) {
  static std::atomic<std::uint32_t> calls{0};
  std::string path = "/proc/self/fd";
  for (std::uint32_t serial = ++calls; serial != 0; serial >>= 1) path += serial & 1 ? "/./" : "//";
  return path + std::to_string(file.get());
}

void* open_library(const std::string& path, std::string& failure) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    failure = reason != nullptr ? reason : "unknown";
  }
  return handle;
}

void* load_from_memory(const std::string& name, std::string_view bytes, std::string& failure) {
  const FileDescriptor file(memfd_create(name.substr(0, 64).c_str(), MFD_CLOEXEC));
  if (!file || !write_all(file.get(), bytes)) {
    failure = std::strerror(errno);
    return nullptr;
  }
  return open_library(fresh_path(file), failure);
}

void* load_from_directory(std::string_view bytes, std::string& failure) {
  const PrivateDirectory directory;
  const std::string path = directory.path() + "/kernel.so";
  if (write_new_file(path, bytes)) return open_library(path, failure);
  failure = path + ": " + std::strerror(errno);
  return nullptr;
}

}  // namespace

std::shared_ptr<LoadedObject> LoadedObject::load(const std::string& name, std::string_view bytes) {
  std::string from_memory, from_directory;
  void* handle = load_from_memory(name, bytes, from_memory);
  if (handle == nullptr) handle = load_from_directory(bytes, from_directory);
  if (handle == nullptr)
    fail<CompileError>(
        "kernel {}: the compiled object cannot be loaded, neither from memory ({}) nor from a file "
        "({}); is {} mounted noexec? Set TMPDIR to a directory where programs may run",
        name, from_memory, from_directory, temporary_directory());
  return std::shared_ptr<LoadedObject>(new LoadedObject(name, handle));
}

LoadedObject::LoadedObject(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}

LoadedObject::~LoadedObject() {
  dlclose(handle_);
}

void* LoadedObject::function(const std::string& symbol) const {
  void* address = dlsym(handle_, symbol.c_str());
  if (address == nullptr) fail<CompileError>("kernel {}: the object has no function {}", name_, symbol);
  return address;
}

}  // namespace sinter::runtime
