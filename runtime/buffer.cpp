#include "runtime/buffer.h"

#include "runtime/allocator.h"

namespace sinter::runtime {

std::shared_ptr<Buffer> Buffer::allocate(std::int64_t bytes) {
  std::shared_ptr<Buffer> buffer(new Buffer);  // before the memory, so that nothing can fail after it
  buffer->data_ = static_cast<std::byte*>(host_allocator().allocate(bytes));
  buffer->bytes_ = bytes;
  buffer->foreign_ = false;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::foreign(void* data, std::int64_t bytes, std::function<void(void*)> deleter) {
  std::shared_ptr<Buffer> buffer(new Buffer);
  buffer->data_ = static_cast<std::byte*>(data);
  buffer->bytes_ = bytes;
  buffer->deleter_ = std::move(deleter);
  return buffer;
}

Buffer::~Buffer() {
  if (foreign_) {
    if (deleter_) deleter_(data_);
  } else {
    host_allocator().free(data_, bytes_);
  }
}

}  // namespace sinter::runtime
