#include "runtime/buffer.h"

#include <algorithm>
#include <mutex>

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
  if (deleter) buffer->rest().deleter = std::move(deleter);
  return buffer;
}

void Buffer::use_on_another(const std::shared_ptr<Stream>& stream) {
  if (!stream || !stream_) return;
  stream->follow(*stream_);
  static std::mutex mutex;  // one for all buffers, few of which are used on a second stream
  const std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<Stream>>& others = rest().others;
  if (std::ranges::find(others, stream) == others.end()) others.push_back(stream);
}

Buffer::Rest& Buffer::rest() {
  if (!rest_) rest_ = std::make_unique<Rest>();
  return *rest_;
}

Buffer::~Buffer() {
  if (!foreign_) {
    const auto others = rest_ ? std::span<const std::shared_ptr<Stream>>(rest_->others)
                              : std::span<const std::shared_ptr<Stream>>();
    device_->allocator().free(data_, bytes_, stream_, others);
    return;
  }
  if (!rest_ || !rest_->deleter) return;
  for (const std::shared_ptr<Stream>& other : rest_->others) try {
      other->mark()->wait();           // its owner knows of none of them
    } catch (const std::exception&) {  // the device is lost, and nothing runs on it any more
    }
  rest_->deleter(data_);
}

}  // namespace sinter::runtime
