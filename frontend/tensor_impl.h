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

/// Elements in memory; strides are those of row-major order wherever an axis has length 1 or nothing is
/// stored, so that equal layouts have equal strides.
struct Storage {
  std::shared_ptr<runtime::Buffer> buffer;
  std::byte* data = nullptr;  // the element (0, ..., 0)
  std::vector<std::int64_t> strides;
  bool is_number = false;  // made of a C++ number: on the CPU, and goes wherever it is used
};

/// Values that a graph computes from nothing: emit adds the nodes. Once somebody wanted them in memory they
/// are kept.
struct Generator {
  std::function<ir::Value(ir::Graph&)> emit;
  mutable std::once_flag once;
  mutable std::optional<Storage> made;
  mutable std::atomic<bool> is_made = false;
};

/// A value of the capture with that number; of no use once the capture has ended.
struct CaptureNode {
  std::uint64_t capture = 0;
  ir::Value value;
};

struct TensorImpl {
  DType dtype;
  ir::Shape shape;  // symbolic only for nodes
  std::variant<Storage, Generator, CaptureNode> content;

  TensorImpl(DType dtype, ir::Shape shape, Storage storage)
      : dtype(dtype), shape(std::move(shape)), content(std::move(storage)) {}
  TensorImpl(DType dtype, ir::Shape shape, std::function<ir::Value(ir::Graph&)> emit)
      : dtype(dtype), shape(std::move(shape)), content(std::in_place_type<Generator>) {
    std::get<Generator>(content).emit = std::move(emit);
  }
  TensorImpl(DType dtype, ir::Shape shape, CaptureNode node)
      : dtype(dtype), shape(std::move(shape)), content(node) {}
};

/// The tensor's content; throws ValueError for Tensor{}.
const TensorImpl& impl_of(const Tensor& x);

/// The tensor's memory; computes a generator. Throws UnsupportedError, naming what was wanted, for a node.
const Storage& storage_of(const Tensor& x, std::string_view wanted);

/// The same as programs take it.
runtime::TensorView view_of(const Tensor& x);

/// A tensor over a view, its strides brought to the form that Storage has.
Tensor from_view(runtime::TensorView view);

/// A tensor of the dtype and shape of `like` over other memory.
Tensor with_storage(const Tensor& like, Storage storage);

/// A contiguous tensor with memory of its own, uninitialised; ShapeError when its size overflows.
Tensor allocate(DType dtype, std::vector<std::int64_t> shape, runtime::Device& device);

/// The shape as numbers; throws UnsupportedError, naming what was wanted, when it has symbols.
std::vector<std::int64_t> shape_values(const Tensor& x, std::string_view wanted);

/// The shape of a tensor that `function` makes; ShapeError, with the line, when a length is negative or the
/// size overflows.
ir::Shape checked_shape(std::string_view function, const std::vector<std::int64_t>& shape, DType dtype,
                        const std::source_location& where);

/// Strides of row-major order.
std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape);

/// "f32[2, 3]", for messages.
std::string describe(const Tensor& x);

}  // namespace sinter::frontend
