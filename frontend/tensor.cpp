#include "sinter/tensor.h"

#include <algorithm>

#include "frontend/capture.h"
#include "frontend/device_of.h"
#include "frontend/eager.h"
#include "frontend/elements.h"
#include "frontend/tensor_impl.h"
#include "ir/base/check.h"
#include "sinter/functions.h"

namespace sinter {

using frontend::impl_of;
using frontend::storage_of;

DType Tensor::dtype() const {
  return impl_of(*this).dtype();
}
Shape Tensor::shape() const {
  return frontend::shape_values(*this, "its shape()");
}
int Tensor::rank() const {
  return impl_of(*this).shape().rank();
}

std::int64_t Tensor::length(std::int64_t axis) const {
  const ir::Shape& shape = impl_of(*this).shape();
  const ir::Dim& d =
      shape[ir::normalize_axis(axis, shape.rank(), "length() of " + frontend::describe(*this))];
  if (!d.is_constant())
    fail<UnsupportedError>("length() of {}: {} has no value while a program is lowered for every length",
                           frontend::describe(*this), d.str());
  return d.value();
}

std::int64_t Tensor::size() const {
  std::int64_t n = 1;
  for (const std::int64_t length : frontend::shape_values(*this, "its size()")) n *= length;
  return n;
}

std::size_t Tensor::nbytes() const {
  return static_cast<std::size_t>(size()) * static_cast<std::size_t>(size_of(dtype()));
}

Device Tensor::device() const {
  const frontend::TensorImpl& impl = impl_of(*this);
  if (const frontend::Storage* storage = impl.storage())
    return frontend::public_device(storage->buffer->device());
  if (const frontend::Generator* generator = impl.generator(); generator && generator->is_made)
    return frontend::public_device(generator->made->buffer->device());
  if (const frontend::Capture* capture = frontend::current_capture();
      capture && std::holds_alternative<frontend::CaptureNode>(impl.content))
    return frontend::public_device(capture->device().get());
  return Device();
}

Shape Tensor::strides() const {
  storage_of(*this, "its strides()");
  return impl_of(*this).layout->strides();
}

bool Tensor::contiguous() const {
  storage_of(*this, "whether it is contiguous()");
  return impl_of(*this).layout->strides() == frontend::row_major(shape());
}

const void* Tensor::data() const {
  return storage_of(*this, "its data()").data;
}

Tensor::operator bool() const {
  const frontend::TensorImpl& impl = impl_of(*this);
  if (std::holds_alternative<frontend::CaptureNode>(impl.content))
    fail<UnsupportedError>(
        "the truth of {} is not known while a compiled function is captured, so `if`, `while`, && and || "
        "cannot "
        "depend on it; choose element by element with where(condition, x, y), or decide outside the function",
        frontend::describe(*this));
  if (size() != 1)
    fail<ValueError>(
        "the truth of {} is not defined: it has {} elements, not one; use any(x) or all(x), or "
        "array_equal(x, y) to compare whole tensors",
        frontend::describe(*this), size());
  return frontend::first_element(*this, "its truth").cast(DType::boolean).bits != 0;
}

void Tensor::require_dtype(DType wanted) const {
  if (dtype() != wanted)
    fail<DTypeError>(
        "elements of {} are asked for as {}; name the C++ type of the dtype, or convert with astype",
        frontend::describe(*this), ::sinter::name(wanted));
}

namespace {

ir::Scalar only_element(const Tensor& x) {
  const frontend::TensorImpl& impl = impl_of(x);
  if (std::holds_alternative<frontend::CaptureNode>(impl.content))
    fail<UnsupportedError>(
        "item() of {}: its value is not known while a compiled function is captured; keep "
        "computing with the tensor, or return it and call item() outside",
        frontend::describe(x));
  if (x.size() != 1)
    fail<ValueError>("item() of {}: it has {} elements, not one; use to_vector()", frontend::describe(x),
                     x.size());
  return frontend::first_element(x, "its item()");
}

}  // namespace

double Tensor::item_as_real() const {
  return static_cast<double>(only_element(*this).real());
}

std::int64_t Tensor::item_as_whole(bool wants_bool) const {
  const ir::Scalar value = only_element(*this);
  if (is_float(value.dtype) || (wants_bool && !is_bool(value.dtype)))
    fail<DTypeError>(
        "item() of {} is asked for as {}; ask for a C++ type of its kind, or convert with astype",
        frontend::describe(*this), wants_bool ? "bool" : "a whole number");
  return value.whole();
}

namespace frontend {

const TensorImpl& impl_of(const Tensor& x) {
  if (!x.defined())
    fail<ValueError>(
        "a Tensor without content is used: it was made by Tensor{{}} or moved from; assign one first");
  return *x.impl();
}

const Storage& storage_of(const Tensor& x, std::string_view wanted) {
  const TensorImpl& impl = impl_of(x);
  if (const Storage* storage = impl.storage()) return *storage;
  if (const Generator* generator = impl.generator()) {
    std::call_once(generator->once, [&] {
      generator->made = compute(*generator, runtime::default_device());
      generator->is_made = true;
    });
    return *generator->made;
  }
  fail<UnsupportedError>(
      "{} is a value of a compiled function being captured, so {} cannot be had: it has no memory "
      "yet; return it from the function and look at it outside",
      describe(x), wanted);
}

runtime::TensorView view_of(const Tensor& x) {
  const Storage& storage = storage_of(x, "its memory");
  return {storage, x.dtype(), shape_values(x, "its shape"), impl_of(x).layout->strides()};
}

Tensor from_view(runtime::TensorView view) {
  ir::Shape shape(std::vector<ir::Dim>(view.shape.begin(), view.shape.end()));
  return make_tensor(runtime::TensorLayout::make(view.dtype, std::move(shape), std::move(view.strides)),
                     {{std::move(view.buffer), view.data}});
}

Tensor make_tensor(TensorImpl::Layout layout, Storage storage) {
  return Tensor(std::make_shared<TensorImpl>(std::move(layout), std::move(storage)));
}

Tensor allocate(DType dtype, std::vector<std::int64_t> shape, runtime::Device& device) {
  const std::int64_t elements = checked_elements("a tensor", shape, dtype);
  std::shared_ptr<runtime::Buffer> buffer = runtime::Buffer::allocate(elements * size_of(dtype), device);
  std::byte* const data = buffer->data();
  return make_tensor(runtime::TensorLayout::make(dtype, ir::Shape({shape.begin(), shape.end()})),
                     {{std::move(buffer), data}});
}

std::vector<std::int64_t> shape_values(const Tensor& x, std::string_view wanted) {
  const TensorImpl& impl = impl_of(x);
  if (!impl.shape().is_constant())
    fail<UnsupportedError>(
        "{}: {} is not known while a program is lowered for every length; lower() it with numbers "
        "for the lengths that the function asks for",
        describe(x), wanted);
  return impl.shape().values();
}

std::string describe(const Tensor& x) {
  const TensorImpl& impl = impl_of(x);
  return fmt::format("{}{}", name(impl.dtype()), impl.shape().str());
}

}  // namespace frontend
}  // namespace sinter
