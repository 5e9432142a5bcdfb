// Tensors on devices: which one a program runs on, and copies from one to another.
#include <array>

#include "frontend/device_of.h"
#include "frontend/eager.h"
#include "frontend/elements.h"
#include "ir/base/check.h"
#include "ir/build.h"

namespace sinter {
namespace frontend {
namespace {

/// The bytes from the lowest to the highest element of a view.
struct Span {
  std::int64_t below = 0, bytes = 0;  // from the element (0, ..., 0) downwards, and in all
};

Span span_of(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, std::int64_t size) {
  std::int64_t below = 0, above = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return {};
    const std::int64_t reach = strides[i] * (shape[i] - 1);
    (reach < 0 ? below : above) += reach;
  }
  return {-below * size, (above - below + 1) * size};
}

/// A dense copy on a GPU, by a kernel. What it computes is no more than a copy, but only the kernel's caller
/// knows that, so that no pass makes a view of it.
Tensor dense_copy(const Tensor& x) {
  runtime::Device& device = storage_of(x, "copying it").buffer->device();
  const bool yes = true;
  const Tensor condition = from_host(DType::boolean, {}, &yes, device);
  ir::Graph graph("copy");
  const ir::Value c = graph.input("c", DType::boolean, {});
  const ir::Value v = graph.input("x", x.dtype(), impl_of(x).shape());
  const ir::Value zero = graph.constant(ir::to_scalar(ir::Literal{std::int64_t{0}}, x.dtype()));
  const std::array<ir::Operand, 3> choice{c, v, zero};
  const ir::Value copy = ir::elementwise(graph, ir::Op::where, choice);
  return run_one(std::move(graph), copy, std::array{condition, x}, device);
}

/// Copies a GPU's memory, which need not be dense, to row-major order on the host.
void copy_from_gpu(const Tensor& x, std::byte* to) {
  const Storage& storage = storage_of(x, "its elements");
  const std::vector<std::int64_t> shape = x.shape();
  const int size = size_of(x.dtype());
  runtime::Device& device = storage.buffer->device();
  storage.buffer->use_on(device.stream());
  const std::vector<std::int64_t>& strides = impl_of(x).layout->strides();
  const Span span = span_of(shape, strides, size);
  if (strides == row_major(shape)) {
    device.copy_to_host(to, storage.data, span.bytes);
    return;
  }
  constexpr std::int64_t worth_a_kernel = 1 << 16;  // bytes that need not come to the host
  if (span.bytes - static_cast<std::int64_t>(x.nbytes()) > worth_a_kernel) {
    copy_from_gpu(dense_copy(x), to);
    return;
  }
  std::vector<std::byte> elements(static_cast<std::size_t>(span.bytes));
  device.copy_to_host(elements.data(), storage.data - span.below, span.bytes);
  copy_strided(elements.data() + span.below, shape, strides, size, to);
}

std::string where_it_is(const Tensor& x, const runtime::Device& device) {
  return fmt::format("{} on {}", describe(x), device.name());
}

}  // namespace

void CommonDevice::add(const Tensor& x, std::string_view what) {
  const Storage* storage = impl_of(x).storage();
  if (!storage || storage->is_number) return;
  runtime::Device& device = storage->buffer->device();
  if (!device_) {
    device_ = &device;
    first_ = x;
  } else if (device_ != &device) {
    fail<DeviceError>("{}: the tensors are on two devices: {} and {}; move one of them with to()", what,
                      where_it_is(first_, *device_), where_it_is(x, device));
  }
}

Tensor on_device(const Tensor& x, runtime::Device& device) {
  const Storage& storage = storage_of(x, "its memory");
  if (!storage.is_number || device.is_cpu()) return x;
  const Tensor there = allocate(x.dtype(), {}, device);
  device.fill(storage_of(there, "its memory").data, element(x.dtype(), storage.data).bits, size_of(x.dtype()),
              1);
  return there;
}

Tensor from_host(DType dtype, std::vector<std::int64_t> shape, const void* elements,
                 runtime::Device& device) {
  const Tensor x = allocate(dtype, std::move(shape), device);
  device.copy_from_host(storage_of(x, "its memory").data, elements, static_cast<std::int64_t>(x.nbytes()));
  return x;
}

ir::Scalar first_element(const Tensor& x, std::string_view wanted) {
  const Storage& storage = storage_of(x, wanted);
  runtime::Device& device = storage.buffer->device();
  if (device.is_cpu()) return element(x.dtype(), storage.data);
  std::byte bytes[sizeof(std::uint64_t)];
  storage.buffer->use_on(device.stream());
  device.copy_to_host(bytes, storage.data, size_of(x.dtype()));
  return element(x.dtype(), bytes);
}

}  // namespace frontend

void Tensor::copy_to(void* destination) const {
  const frontend::Storage& storage = frontend::storage_of(*this, "its elements");
  auto* const to = static_cast<std::byte*>(destination);
  if (storage.buffer->device().is_cpu())
    frontend::copy_strided(storage.data, shape(), frontend::impl_of(*this).layout->strides(),
                           size_of(dtype()), to);
  else
    frontend::copy_from_gpu(*this, to);
}

Tensor Tensor::to(const Device& device) const {
  const frontend::TensorImpl& impl = frontend::impl_of(*this);
  runtime::Device& there = frontend::device_of(device);
  if (std::holds_alternative<frontend::CaptureNode>(impl.content)) {
    if (this->device() == device) return *this;
    fail<UnsupportedError>(
        "{} is a value of a compiled function being captured, which runs on {}, and to({}) would leave it; "
        "call to() outside",
        frontend::describe(*this), this->device().name(), device.name());
  }
  if (const frontend::Generator* generator = impl.generator();
      generator && !(generator->is_made && &generator->made->buffer->device() == &there))
    return frontend::make_tensor(impl.layout, frontend::compute(*generator, there));
  const frontend::Storage& storage = frontend::storage_of(*this, "moving it");
  runtime::Device& here = storage.buffer->device();
  if (&here == &there && !storage.is_number) return *this;
  const Tensor moved = frontend::allocate(dtype(), shape(), there);
  std::byte* const to = frontend::storage_of(moved, "its memory").data;
  const auto bytes = static_cast<std::int64_t>(nbytes());
  if (there.is_cpu()) {
    copy_to(to);
  } else if (contiguous() && here.is_cpu()) {
    there.copy_from_host(to, storage.data, bytes);
  } else if (contiguous()) {
    there.copy_from_peer(to, here, storage.data, bytes);
  } else {
    std::vector<std::byte> elements(static_cast<std::size_t>(bytes));
    copy_to(elements.data());
    there.copy_from_host(to, elements.data(), bytes);
  }
  return moved;
}

}  // namespace sinter
