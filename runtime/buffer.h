// A block of memory that tensors share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "codegen/target.h"

namespace sinter::runtime {

/// Memory of fixed place and size on one device, given back when the last pointer to it goes.
class Buffer {
 public:
  /// Uninitialised host memory from the caching allocator, aligned to 64 bytes at least. Throws DeviceError.
  static std::shared_ptr<Buffer> allocate(std::int64_t bytes);

  /// Memory of somebody else's, used in place; `deleter` is called once, with its address, when nobody uses
  /// it any more, and may be empty.
  static std::shared_ptr<Buffer> foreign(void* data, std::int64_t bytes, std::function<void(void*)> deleter);

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  codegen::Backend device() const { return codegen::Backend::cpu; }
  /// Whether somebody else gave it.
  bool is_foreign() const { return foreign_; }

 private:
  Buffer() = default;

  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  bool foreign_ = true;
  std::function<void(void*)> deleter_;
};

}  // namespace sinter::runtime
