#include "sinter/create.h"

#include <algorithm>
#include <array>

#include "frontend/device_of.h"
#include "frontend/dispatch.h"
#include "frontend/elements.h"
#include "frontend/errors.h"
#include "frontend/tensor_impl.h"
#include "ir/base/check.h"
#include "sinter/functions.h"

namespace sinter {
namespace frontend {

ir::Shape checked_shape(std::string_view function, const Shape& shape, DType dtype, const ir::Where& where) {
  with_location(where, [&] { checked_elements(function, shape, dtype); });
  return ir::Shape(std::vector<ir::Dim>(shape.begin(), shape.end()));
}

Tensor copy_in(const void* elements, std::int64_t count, DType dtype, const Shape& shape,
               const Device& device, const ir::Where& where) {
  return with_location(where, [&] {
    const std::int64_t wanted = checked_elements("from_vector", shape, dtype);
    if (count != wanted)
      fail<ShapeError>("from_vector: {} elements do not fill the shape [{}], which has {}", count,
                       fmt::join(shape, ", "), wanted);
    return from_host(dtype, shape, elements, device_of(device));
  });
}

Tensor scalar_tensor(const Operand& number) {
  const ir::Literal literal{std::get<Operand::Number>(number.value())};
  const Tensor x = allocate(ir::default_dtype(literal), {}, runtime::cpu_device());
  Storage storage = storage_of(x, "its memory");
  set_element(storage.data, ir::to_scalar(literal, x.dtype()));
  storage.is_number = true;
  return make_tensor(impl_of(x).layout, std::move(storage));
}

namespace {

Tensor generated(DType dtype, ir::Shape shape, std::function<ir::Value(ir::Graph&)> emit) {
  return Tensor(
      std::make_shared<TensorImpl>(runtime::TensorLayout::make(dtype, std::move(shape)), std::move(emit)));
}

Tensor filled(std::string_view function, const Shape& shape, const ir::Literal& value, DType dtype,
              const ir::Where& where) {
  const ir::Shape lengths = checked_shape(function, shape, dtype, where);
  const ir::Scalar scalar = with_location(where, [&] { return ir::to_scalar(value, dtype); });
  return generated(dtype, lengths, [=](ir::Graph& g) {
    return ir::broadcast_to(g, g.constant(scalar, where), lengths, where);
  });
}

/// Adds elementwise operations of two operands to a graph.
struct Arithmetic {
  ir::Graph& graph;
  const ir::Where& where;
  ir::Value operator()(ir::Op op, ir::Operand a, ir::Operand b) const {
    return ir::elementwise(graph, op, std::array{std::move(a), std::move(b)}, where);
  }
};

}  // namespace
}  // namespace frontend

Tensor zeros(const Shape& shape, DType dtype, Where where) {
  return frontend::filled("zeros", shape, {std::int64_t{0}}, dtype, where);
}

Tensor ones(const Shape& shape, DType dtype, Where where) {
  return frontend::filled("ones", shape, {std::int64_t{1}}, dtype, where);
}

Tensor full(const Shape& shape, Operand value, std::optional<DType> dtype) {
  if (const auto* number = std::get_if<Operand::Number>(&value.value()))
    return frontend::filled("full", shape, {*number}, dtype.value_or(value.dtype()), value.where());
  const DType t = dtype.value_or(value.dtype());
  return frontend::dispatch({value}, [&](ir::Graph& g, std::span<const ir::Operand> v, const ir::Where& w) {
    ir::Value x = ir::cast(g, frontend::as_value(g, v[0], w), t, w);
    if (!g.shape(x).elements().is(1))
      fail<ShapeError>("full: the value is a number or a tensor with one element, got {}{}", name(g.dtype(x)),
                       g.shape(x).str());
    x = ir::reshape(g, x, {}, w);
    return ir::broadcast_to(g, x, frontend::checked_shape("full", shape, t, w), w);
  });
}

Tensor arange(std::int64_t stop, DType dtype, Where where) {
  return arange(0, stop, 1, dtype, where);
}

Tensor arange(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype, Where where) {
  frontend::with_location(where, [&] {
    if (step == 0)
      fail<ValueError>("arange: the step from {} to {} is 0; it is the distance between values", start, stop);
    if (is_bool(dtype))
      fail<DTypeError>(
          "arange: counts in whole numbers or floats, not in bool; compare the result with something");
  });
  const bool up = step > 0;
  const auto low = static_cast<std::uint64_t>(up ? start : stop),
             high = static_cast<std::uint64_t>(up ? stop : start);
  const std::uint64_t stride = up ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  const std::uint64_t count = (up ? start < stop : stop < start) ? (high - low - 1) / stride + 1 : 0;
  if (count > std::numeric_limits<std::int64_t>::max())
    frontend::with_location(where, [&] {
      fail<ShapeError>("arange: from {} to {} by {} are {} elements, more than any memory", start, stop, step,
                       count);
    });
  const ir::Shape lengths =
      frontend::checked_shape("arange", {static_cast<std::int64_t>(count)}, dtype, where);
  return frontend::generated(dtype, lengths, [=](ir::Graph& g) {
    const frontend::Arithmetic f{g, where};
    ir::Value x = ir::iota(g, lengths, 0, DType::int64, where);
    if (step != 1) x = f(ir::Op::mul, x, ir::Literal{step});
    if (start != 0) x = f(ir::Op::add, x, ir::Literal{start});
    return ir::cast(g, x, dtype, where);
  });
}

Tensor linspace(double start, double stop, std::int64_t count, DType dtype, Where where) {
  frontend::with_location(where, [&] {
    if (!is_float(dtype))
      fail<DTypeError>("linspace: gives a float dtype, not {}; convert the result with astype", name(dtype));
  });
  const ir::Shape lengths = frontend::checked_shape("linspace", {count}, dtype, where);
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  return frontend::generated(dtype, lengths, [=](ir::Graph& g) {
    const frontend::Arithmetic f{g, where};
    const ir::Value i = ir::iota(g, lengths, 0, DType::f64, where);
    const ir::Value x = f(ir::Op::add, f(ir::Op::mul, i, ir::Literal{step}), ir::Literal{start});
    if (count < 2) return ir::cast(g, x, dtype, where);
    const ir::Value is_last = f(ir::Op::equal, i, ir::Literal{static_cast<double>(count - 1)});
    const std::array<ir::Operand, 3> ends{is_last, ir::Literal{stop}, x};  // which rounding would miss
    return ir::cast(g, ir::elementwise(g, ir::Op::where, ends, where), dtype, where);
  });
}

Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype, Where where) {
  const ir::Shape lengths = frontend::checked_shape("eye", {rows, columns.value_or(rows)}, dtype, where);
  return frontend::generated(dtype, lengths, [=](ir::Graph& g) {
    const ir::Value row = ir::iota(g, lengths, 0, DType::int64, where);
    const ir::Value column = ir::iota(g, lengths, 1, DType::int64, where);
    return ir::cast(g, frontend::Arithmetic{g, where}(ir::Op::equal, row, column), dtype, where);
  });
}

namespace {

void check_strides(const void* data, const Shape& shape, const Shape& strides, DType dtype) {
  if (strides.size() != shape.size())
    fail<ShapeError>("from_device: {} strides for the {} axes of [{}]", strides.size(), shape.size(),
                     fmt::join(shape, ", "));
  const std::int64_t elements = frontend::checked_elements("from_device", shape, dtype);
  std::int64_t reach = 0;  // bytes, over all axes
  bool fits = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t along = 0;
    fits = fits && strides[i] != std::numeric_limits<std::int64_t>::min() &&
           !__builtin_mul_overflow(std::abs(strides[i]), std::max<std::int64_t>(shape[i] - 1, 0), &along) &&
           !__builtin_mul_overflow(along, std::int64_t{size_of(dtype)}, &along) &&
           !__builtin_add_overflow(reach, along, &reach);
  }
  if (!fits)
    fail<ShapeError>("from_device: the strides [{}] of [{}] reach over more than 2^63 bytes",
                     fmt::join(strides, ", "), fmt::join(shape, ", "));
  if (data == nullptr && elements != 0) fail<ValueError>("from_device: the address is null");
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(size_of(dtype)) != 0)
    fail<ValueError>("from_device: the address {} is not a multiple of the {} bytes of {}", fmt::ptr(data),
                     size_of(dtype), name(dtype));
}

}  // namespace

Tensor from_device(void* data, const Shape& shape, const Shape& strides, DType dtype,
                   std::function<void(void*)> deleter, const Device& device, Where where) {
  frontend::with_location(where, [&] { check_strides(data, shape, strides, dtype); });
  runtime::Device& there = frontend::device_of(device);
  if (data != nullptr) frontend::with_location(where, [&] { there.check_reach(data); });
  // The buffer spans the bytes from the lowest to the highest element that the strides reach.
  std::int64_t below = 0, above = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t reach = strides[i] * std::max<std::int64_t>(shape[i] - 1, 0);
    (reach < 0 ? below : above) += reach;
  }
  auto* first = static_cast<std::byte*>(data);
  const std::int64_t size = size_of(dtype);
  std::function<void(void*)> give_back;
  if (deleter) give_back = [deleter = std::move(deleter), data](void*) { deleter(data); };
  runtime::TensorView view;
  view.buffer =
      runtime::Buffer::foreign(first + below * size, (above - below + 1) * size, std::move(give_back), there);
  view.data = first;
  view.dtype = dtype;
  view.shape = shape;
  view.strides = strides;
  return frontend::from_view(std::move(view));
}

Tensor from_device(void* data, const Shape& shape, DType dtype, std::function<void(void*)> deleter,
                   const Device& device, Where where) {
  return from_device(data, shape, frontend::row_major(shape), dtype, std::move(deleter), device, where);
}

}  // namespace sinter
