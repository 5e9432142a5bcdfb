// What a program depends on in a tensor: dtype, shape, strides, and how its address is aligned.
#pragma once

#include <string>

#include "frontend/tensor_impl.h"
#include "runtime/program.h"
#include "sinter/compile_traits.h"

namespace sinter::frontend {

/// How the tensor, which is in memory, lies there, as programs are built for it.
runtime::InputLayout layout_of(const Tensor& x);

/// Appends dtype, shape and layout as bytes, equal exactly when the same program serves.
void append_signature(std::string& key, const runtime::TensorLayout& layout, const std::byte* data);

/// Appends which device it is.
void append_device(std::string& key, const runtime::Device& device);

/// Appends a value's bytes.
template <class T>
void append_bytes(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// What decides which program serves a call: of every tensor the layout, the device or that it is a number,
/// and how its address is aligned; the values of numbers. It refers to the tensors' layouts, whose owner has
/// to keep them.
class Signature {
 public:
  explicit Signature(std::span<const Argument> arguments);
  explicit Signature(const Tensor& x);

  /// The same, which keeps the layouts itself.
  Signature kept() const;
  std::size_t hash() const { return hash_; }
  friend bool operator==(const Signature& a, const Signature& b) {
    return a.hash_ == b.hash_ && a.parts_ == b.parts_;
  }

  struct Hash {
    std::size_t operator()(const Signature& signature) const { return signature.hash(); }
  };

 private:
  struct Part {
    const runtime::TensorLayout* layout = nullptr;
    std::uint64_t rest = 0;
    friend bool operator==(const Part& a, const Part& b) {
      return a.rest == b.rest && (a.layout == b.layout || (a.layout && b.layout && *a.layout == *b.layout));
    }
  };
  void add(const runtime::TensorLayout* layout, std::uint64_t rest);
  void add(const Tensor& x);

  std::vector<Part> parts_;
  std::size_t hash_ = 0;
  std::vector<std::shared_ptr<const runtime::TensorLayout>> layouts_;  // those that it keeps
};

/// One line per argument in words, for logs: "x0: f32[2, 3], strides [3, 1], aligned to 64 bytes".
std::vector<std::string> describe_signature(std::span<const Argument> arguments);

/// The tensors among the arguments in order, those in vectors too; undefined ones are left out.
std::vector<const Tensor*> tensors_of(std::span<const Argument> arguments);

}  // namespace sinter::frontend
