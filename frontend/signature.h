// What a program depends on in a tensor: dtype, shape, strides, and how its address is aligned.
#pragma once

#include <string>

#include "frontend/tensor_impl.h"
#include "runtime/program.h"
#include "sinter/compile_traits.h"

namespace sinter::frontend {

/// How the view lies in memory, as programs are built for it.
runtime::InputLayout layout_of(const runtime::TensorView& view);

/// Appends dtype, shape and layout as bytes, equal exactly when the same program serves.
void append_signature(std::string& key, const runtime::TensorView& view);

/// Appends which device it is.
void append_device(std::string& key, const runtime::Device& device);

/// The same as for its view.
void append_signature(std::string& key, DType dtype, const ir::Shape& shape, const Storage& storage);

/// Appends a value's bytes.
template <class T>
void append_bytes(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Appends the signature of a tensor: of its view, and the device or that it is a number.
void append_signature(std::string& key, const Tensor& x);

/// The signature of a call: that of every tensor, and the values of numbers.
std::string signature_of(std::span<const Argument> arguments);

/// One line per argument in words, for logs: "x0: f32[2, 3], strides [3, 1], aligned to 64 bytes".
std::vector<std::string> describe_signature(std::span<const Argument> arguments);

/// The tensors among the arguments in order, those in vectors too; undefined ones are left out.
std::vector<Tensor> tensors_of(std::span<const Argument> arguments);

}  // namespace sinter::frontend
