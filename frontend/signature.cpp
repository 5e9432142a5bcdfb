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

/// What begins a part of a signature.
enum class Mark : std::uint8_t { tensor, no_tensor, list, number };

std::uint64_t marked(Mark mark, std::uint64_t value) {
  return value << 8 | static_cast<std::uint64_t>(mark);
}

/// Where a tensor is: a number for each device, and one for what goes wherever it is used.
std::uint64_t place_of(const Storage& storage) {
  if (storage.is_number) return 0;
  const runtime::Device& device = storage.buffer->device();
  return device.is_cpu() ? 1 : 2 + static_cast<std::uint64_t>(device.id().ordinal);
}

std::string in_words(const Tensor& x) {
  if (!x.defined()) return "no tensor";
  const runtime::InputLayout layout = layout_of(x);
  return fmt::format("{} on {}, strides [{}], aligned to {} bytes", describe(x),
                     storage_of(x, "its memory").buffer->device().name(), fmt::join(layout.strides, ", "),
                     layout.alignment);
}

}  // namespace

runtime::InputLayout layout_of(const Tensor& x) {
  return {impl_of(x).layout->strides(), alignment_of(storage_of(x, "its memory").data)};
}

void append_signature(std::string& key, const runtime::TensorLayout& layout, const std::byte* data) {
  key += static_cast<char>(layout.dtype());
  append(key, static_cast<std::int64_t>(layout.shape().rank()));
  for (const ir::Dim& length : layout.shape()) append(key, length.value());
  for (const std::int64_t stride : layout.strides()) append(key, stride);
  append(key, alignment_of(data));
}

void append_device(std::string& key, const runtime::Device& device) {
  key += static_cast<char>(device.is_cpu() ? 'c' : 'g' + device.id().ordinal);
}

Signature::Signature(std::span<const Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (const auto* tensor = std::get_if<Tensor>(&argument)) {
      add(*tensor);
    } else if (const auto* list = std::get_if<std::span<const Tensor>>(&argument)) {
      parts_.reserve(parts_.size() + list->size() + 1);
      add(nullptr, marked(Mark::list, list->size()));
      for (const Tensor& x : *list) add(x);
    } else {
      const auto* number = std::get_if<GuardedNumber>(&argument);
      SINTER_ASSERT(number, "a call has tensors and numbers only");
      add(nullptr, marked(Mark::number, number->type));
      add(nullptr, number->bits);
    }
  }
}

Signature::Signature(const Tensor& x) {
  add(x);
}

void Signature::add(const Tensor& x) {
  if (!x.defined()) return add(nullptr, marked(Mark::no_tensor, 0));
  const Storage& storage = storage_of(x, "its memory");
  const auto alignment = static_cast<std::uint64_t>(alignment_of(storage.data));
  add(impl_of(x).layout.get(), marked(Mark::tensor, place_of(storage) << 8 | alignment));
}

void Signature::add(const runtime::TensorLayout* layout, std::uint64_t rest) {
  parts_.push_back({layout, rest});
  hash_ = (hash_ ^ (rest + (layout ? layout->hash() : 0))) * 0x9e3779b97f4a7c15u;
}

Signature Signature::kept() const {
  Signature kept = *this;
  for (const Part& part : parts_)
    if (part.layout) kept.layouts_.push_back(part.layout->shared_from_this());
  return kept;
}

std::vector<std::string> describe_signature(std::span<const Argument> arguments) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (const auto* tensor = std::get_if<Tensor>(&arguments[i])) {
      lines.push_back(fmt::format("argument {}: {}", i, in_words(*tensor)));
    } else if (const auto* list = std::get_if<std::span<const Tensor>>(&arguments[i])) {
      lines.push_back(fmt::format("argument {}: {} tensors", i, list->size()));
      for (std::size_t k = 0; k < list->size(); ++k)
        lines.push_back(fmt::format("argument {}[{}]: {}", i, k, in_words((*list)[k])));
    } else if (const auto* number = std::get_if<GuardedNumber>(&arguments[i])) {
      lines.push_back(fmt::format("argument {}: the number {}", i, number->text));
    }
  }
  return lines;
}

std::vector<const Tensor*> tensors_of(std::span<const Argument> arguments) {
  std::vector<const Tensor*> tensors;
  auto add = [&](const Tensor& x) {
    if (x.defined()) tensors.push_back(&x);
  };
  for (const Argument& argument : arguments) {
    if (const auto* tensor = std::get_if<Tensor>(&argument))
      add(*tensor);
    else if (const auto* list = std::get_if<std::span<const Tensor>>(&argument))
      for (const Tensor& x : *list) add(x);
  }
  return tensors;
}

}  // namespace sinter::frontend
