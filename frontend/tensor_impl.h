// What a Tensor points to: memory, a generator, or a node of a graph that is being captured.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "runtime/program.h"
#include "sinter/tensor.h"

namespace sinter::frontend {

/// Elements in memory.
struct Storage : runtime::Location {
  bool is_number = false;  // made of a C++ number: on the CPU, and goes wherever it is used
};

/// Values that a graph computes from nothing: emit adds the nodes. Once somebody wanted them in memory they
/// are kept.
struct Generator {
  using Emit = std::function<ir::Value(ir::Graph&)>;
  explicit Generator(Emit emit) : emit(std::move(emit)) {}

  const Emit emit;
  mutable std::once_flag once;
  mutable std::optional<Storage> made;
  mutable std::atomic<bool> is_made = false;
};

/// A value of the capture with that number; of no use once the capture has ended.
struct CaptureNode {
  std::uint64_t capture = 0;
  ir::Value value;
};

/// Small, since a call may give many: what they have in common is shared.
struct TensorImpl {
  using Layout = std::shared_ptr<const runtime::TensorLayout>;
  Layout layout;  // lengths are symbols only for nodes; what a generator makes is in row-major order
  std::variant<Storage, std::unique_ptr<const Generator>, CaptureNode> content;

  TensorImpl(Layout layout, Storage storage) : layout(std::move(layout)), content(std::move(storage)) {}
  TensorImpl(Layout layout, Generator::Emit emit)
      : layout(std::move(layout)), content(std::make_unique<const Generator>(std::move(emit))) {}
  TensorImpl(Layout layout, CaptureNode node) : layout(std::move(layout)), content(node) {}

  DType dtype() const { return layout->dtype(); }
  const ir::Shape& shape() const { return layout->shape(); }
  const Storage* storage() const { return std::get_if<Storage>(&content); }  // null for others
  const Generator* generator() const {                                       // null for others
    const auto* generator = std::get_if<std::unique_ptr<const Generator>>(&content);
    return generator ? generator->get() : nullptr;
  }
};

/// The tensor's content; throws ValueError for Tensor{}.
const TensorImpl& impl_of(const Tensor& x);

/// The tensor's memory; computes a generator. Throws UnsupportedError, naming what was wanted, for a node.
const Storage& storage_of(const Tensor& x, std::string_view wanted);

/// The same as programs take it.
runtime::TensorView view_of(const Tensor& x);

/// A tensor over a view, its strides brought to the form that Storage has.
Tensor from_view(runtime::TensorView view);

/// A tensor of that layout over that memory.
Tensor make_tensor(TensorImpl::Layout layout, Storage storage);

/// A contiguous tensor with memory of its own, uninitialised; ShapeError when its size overflows.
Tensor allocate(DType dtype, std::vector<std::int64_t> shape, runtime::Device& device);

/// The shape as numbers; throws UnsupportedError, naming what was wanted, when it has symbols.
std::vector<std::int64_t> shape_values(const Tensor& x, std::string_view wanted);

/// The shape of a tensor that `function` makes; ShapeError, with the line, when a length is negative or the
/// size overflows.
ir::Shape checked_shape(std::string_view function, const std::vector<std::int64_t>& shape, DType dtype,
                        const std::source_location& where);

using runtime::row_major;

/// "f32[2, 3]", for messages.
std::string describe(const Tensor& x);

}  // namespace sinter::frontend
