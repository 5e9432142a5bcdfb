// Where tensors live and programs run.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace sinter {

namespace runtime {
class StreamScope;
}

/// The CPU or a GPU. A device that cannot be used is refused with a DeviceError that says what is missing,
/// and is never passed off as the CPU.
class Device {
 public:
  /// The device where tensors are created unless told otherwise: the one that the setting SINTER_DEVICE
  /// names; without it the first GPU if it can be used, else the CPU (a DeviceError under
  /// SINTER_REQUIRE_GPU=1).
  Device();
  /// "cpu", "cuda" for the first GPU, "cuda:1" for the next.
  explicit Device(std::string_view name);
  /// The GPU of that number among those that the process sees, counted from 0.
  static Device gpu(int ordinal);

  std::string name() const;
  bool is_gpu() const { return gpu_ >= 0; }
  /// The GPU's number; 0 for the CPU.
  int ordinal() const { return is_gpu() ? gpu_ : 0; }
  /// The maker's name for it: "NVIDIA H200".
  std::string description() const;
  /// What Target takes to generate code for it: "cpu", "sm_90a".
  std::string architecture() const;
  friend bool operator==(const Device&, const Device&) = default;

 private:
  int gpu_ = -1;
};

/// While it lives, what this thread runs on the GPU, copies too, runs on a CUDA stream of yours. Scopes nest,
/// and must end in reverse order in the thread that made them; the stream may be destroyed afterwards.
///
/// Without one programs run on CUDA's default stream (the legacy one), like PyTorch, CuPy and plain kernel
/// launches do, so that their work and sinter's is in order with no more ado. A tensor that was made on one
/// stream is waited for when it is used on another. Memory that you hand in (from_device, from_dlpack) must
/// be ready for the stream of that moment, and tensors whose address you take (data()) are for the stream
/// that they were made on.
class StreamScope {
 public:
  /// `stream` is a cudaStream_t of that GPU; null is the default stream. Throws DeviceError for the CPU, and
  /// for a stream of another GPU.
  explicit StreamScope(void* cuda_stream, const Device& device = Device());
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;
  ~StreamScope();

 private:
  std::unique_ptr<runtime::StreamScope> impl_;
};

/// Waits until everything started so far has run on every GPU, and throws what went wrong in it. Programs on
/// the CPU have run when the call returns, so that there it returns at once.
void synchronize();

}  // namespace sinter
