#include "frontend/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/graph_key.h"
#include "frontend/tensor_impl.h"
#include "ir/base/check.h"

namespace sinter::frontend {
namespace {

constexpr std::uintptr_t widest_alignment = 64;

int alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data) | widest_alignment;
  return static_cast<int>(address & -address);
}

void append_tensor(std::string& key, const Tensor& x) {
  key += x.defined() ? 'T' : 'U';
  if (x.defined()) append_signature(key, x);
}

std::string in_words(const Tensor& x) {
  if (!x.defined()) return "no tensor";
  const runtime::TensorView view = view_of(x);
  return fmt::format("{} on {}, strides [{}], aligned to {} bytes", describe(x), view.buffer->device().name(),
                     fmt::join(view.strides, ", "), layout_of(view).alignment);
}

}  // namespace

runtime::InputLayout layout_of(const runtime::TensorView& view) {
  return {view.strides, alignment_of(view.data)};
}

void append_signature(std::string& key, const runtime::TensorView& view) {
  key += static_cast<char>(view.dtype);
  append(key, static_cast<std::int64_t>(view.shape.size()));
  for (const std::int64_t length : view.shape) append(key, length);
  for (const std::int64_t stride : view.strides) append(key, stride);
  append(key, alignment_of(view.data));
}

void append_signature(std::string& key, DType dtype, const ir::Shape& shape, const Storage& storage) {
  key += static_cast<char>(dtype);
  append(key, static_cast<std::int64_t>(shape.rank()));
  for (const ir::Dim& length : shape) append(key, length.value());
  for (const std::int64_t stride : storage.strides) append(key, stride);
  append(key, alignment_of(storage.data));
}

void append_device(std::string& key, const runtime::Device& device) {
  key += static_cast<char>(device.is_cpu() ? 'c' : 'g' + device.id().ordinal);
}

void append_signature(std::string& key, const Tensor& x) {
  if (storage_of(x, "its memory").is_number)
    key += '#';
  else
    append_device(key, storage_of(x, "its memory").buffer->device());
  append_signature(key, impl_of(x).dtype, impl_of(x).shape, storage_of(x, "its memory"));
}

std::string signature_of(std::span<const Argument> arguments) {
  std::string key;
  for (const Argument& argument : arguments) {
    if (const auto* tensor = std::get_if<Tensor>(&argument)) {
      append_tensor(key, *tensor);
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&argument)) {
      key += 'L';
      append(key, static_cast<std::int64_t>(list->size()));
      for (const Tensor& x : *list) append_tensor(key, x);
    } else {
      const auto* number = std::get_if<GuardedNumber>(&argument);
      SINTER_ASSERT(number, "a call has tensors and numbers only");
      key += 'N';
      key += static_cast<char>(number->type);
      append(key, static_cast<std::int64_t>(number->bits));
    }
  }
  return key;
}

std::vector<std::string> describe_signature(std::span<const Argument> arguments) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (const auto* tensor = std::get_if<Tensor>(&arguments[i])) {
      lines.push_back(fmt::format("argument {}: {}", i, in_words(*tensor)));
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&arguments[i])) {
      lines.push_back(fmt::format("argument {}: {} tensors", i, list->size()));
      for (std::size_t k = 0; k < list->size(); ++k)
        lines.push_back(fmt::format("argument {}[{}]: {}", i, k, in_words((*list)[k])));
    } else if (const auto* number = std::get_if<GuardedNumber>(&arguments[i])) {
      lines.push_back(fmt::format("argument {}: the number {}", i, number->text));
    }
  }
  return lines;
}

std::vector<Tensor> tensors_of(std::span<const Argument> arguments) {
  std::vector<Tensor> tensors;
  auto add = [&](const Tensor& x) {
    if (x.defined()) tensors.push_back(x);
  };
  for (const Argument& argument : arguments) {
    if (const auto* tensor = std::get_if<Tensor>(&argument))
      add(*tensor);
    else if (const auto* list = std::get_if<std::vector<Tensor>>(&argument))
      for (const Tensor& x : *list) add(x);
  }
  return tensors;
}

}  // namespace sinter::frontend
