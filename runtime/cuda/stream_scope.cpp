#include "runtime/cuda/stream_scope.h"

#include "runtime/cuda/cuda_device.h"

namespace sinter::runtime::cuda {
namespace {

class Scope;
thread_local const Scope* innermost = nullptr;

class Scope final : public StreamScope {
 public:
  Scope(CudaDevice& device, std::shared_ptr<CudaStream> stream)
      : device_(device), cuda_(std::move(stream)), stream_(cuda_), outer_(innermost) {
    cuda_->open();
    innermost = this;
  }
  ~Scope() override {
    innermost = outer_;
    cuda_->close();
  }

  const CudaDevice& device() const { return device_; }
  const std::shared_ptr<Stream>& stream() const { return stream_; }
  const Scope* outer() const { return outer_; }

 private:
  CudaDevice& device_;
  const std::shared_ptr<CudaStream> cuda_;
  const std::shared_ptr<Stream> stream_;
  const Scope* const outer_;
};

}  // namespace

const std::shared_ptr<Stream>* chosen_stream(CudaDevice& device) {
  for (const Scope* scope = innermost; scope != nullptr; scope = scope->outer())
    if (&scope->device() == &device) return &scope->stream();
  return nullptr;
}

std::unique_ptr<StreamScope> enter_stream(int ordinal, void* stream) {
  CudaDevice& device = cuda::device(ordinal);
  const auto handle = static_cast<cudaStream_t>(stream);
  return std::make_unique<Scope>(device, device.stream_of(handle));
}

}  // namespace sinter::runtime::cuda
