#include "runtime/buffer.h"

#include <algorithm>

#include "runtime/allocator.h"

namespace sinter::runtime {

Buffer::Buffer(Token, Device& device) : device_(&device), stream_(device.stream()) {}

std::shared_ptr<Buffer> Buffer::allocate(std::int64_t bytes, Device& device) {
  const auto buffer = std::make_shared<Buffer>(Token(), device);  // first, so that nothing fails after it
  buffer->data_ = static_cast<std::byte*>(device.allocator().allocate(bytes, buffer->stream_));
  buffer->bytes_ = bytes;
  buffer->foreign_ = false;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::foreign(void* data, std::int64_t bytes, std::function<void(void*)> deleter,
                                        Device& device) {
  const auto buffer = std::make_shared<Buffer>(Token(), device);
  buffer->data_ = static_cast<std::byte*>(data);
  buffer->bytes_ = bytes;
  buffer->deleter_ = std::move(deleter);
  return buffer;
}

void Buffer::use_on_another(const std::shared_ptr<Stream>& stream) {
  if (!stream || !stream_) return;
  stream->follow(*stream_);
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(others_, stream) == others_.end()) others_.push_back(stream);
}

Buffer::~Buffer() {
  if (!foreign_) {
    device_->allocator().free(data_, bytes_, stream_, others_);
    return;
  }
  if (!deleter_) return;
  for (const std::shared_ptr<Stream>& other : others_) try {
      other->mark()->wait();           // its owner knows of none of them
    } catch (const std::exception&) {  // the device is lost, and nothing runs on it any more
    }
  deleter_(data_);
}

}  // namespace sinter::runtime
