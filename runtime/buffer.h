// A block of memory that tensors share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/device.h"

namespace sinter::runtime {

/// Memory of fixed place and size on one device, given back when the last pointer to it goes.
class Buffer {
 public:
  /// Uninitialised memory from the device's caching allocator, aligned to 64 bytes at least, for work of this
  /// thread's stream. Throws DeviceError.
  static std::shared_ptr<Buffer> allocate(std::int64_t bytes, Device& device = cpu_device());

  /// Memory of somebody else's, used in place, that is ready for this thread's stream; `deleter` is called
  /// once, with its address, when nobody uses it any more, and may be empty. On a GPU work of this thread's
  /// stream may then still be under way.
  static std::shared_ptr<Buffer> foreign(void* data, std::int64_t bytes, std::function<void(void*)> deleter,
                                         Device& device = cpu_device());

  /// Only allocate() and foreign() have the token.
  class Token {
    friend Buffer;
    Token() = default;
  };
  Buffer(Token, Device& device);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  Device& device() const { return *device_; }
  /// Whether somebody else gave it.
  bool is_foreign() const { return foreign_; }

  /// To be called before work that touches the memory is started on a stream of the device: puts it after the
  /// work that fills the memory, and keeps the memory until it has run. Safe to call from many threads.
  void use_on(const std::shared_ptr<Stream>& stream) {
    if (stream != stream_) use_on_another(stream);
  }

 private:
  void use_on_another(const std::shared_ptr<Stream>& stream);

  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Device* device_;
  std::shared_ptr<Stream> stream_;  // on which it is filled
  bool foreign_ = true;

  /// What few buffers have.
  struct Rest {
    std::function<void(void*)> deleter;
    std::vector<std::shared_ptr<Stream>> others;  // streams beside stream_ that use it
  };
  Rest& rest();
  std::unique_ptr<Rest> rest_;
};

/// Where a tensor's elements are.
struct Location {
  std::shared_ptr<Buffer> buffer;
  std::byte* data = nullptr;  // the element (0, ..., 0)
};

}  // namespace sinter::runtime
