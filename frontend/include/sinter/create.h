// Functions that make tensors.
//
// zeros, ones, full, arange, linspace and eye make no memory: they become part of the program that uses them,
// and run on its device; by themselves they are on the default device, or where to() moves them.
// rand and randn draw when they are called; inside a compiled function, on each of its runs. Lengths must not
// be negative (ShapeError). The last parameter, `where`, is the line for messages and is not meant to be
// given.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

#include "sinter/operand.h"
#include "sinter/tensor.h"

namespace sinter {

using Where = std::source_location;

Tensor zeros(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
Tensor ones(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
/// All elements `value`, a number or a tensor with one element. The dtype is the value's own when none is
/// given.
Tensor full(const Shape& shape, Operand value, std::optional<DType> dtype = std::nullopt);

/// 0, 1, ..., stop-1 as int64, or as `dtype`.
Tensor arange(std::int64_t stop, DType dtype = DType::int64, Where where = Where::current());
/// start, start+step, ... up to but without `stop`; step is not 0 (ValueError).
Tensor arange(std::int64_t start, std::int64_t stop, std::int64_t step = 1, DType dtype = DType::int64,
              Where where = Where::current());
/// `count` values from start to stop, both included, as a float dtype.
Tensor linspace(double start, double stop, std::int64_t count, DType dtype = DType::f32,
                Where where = Where::current());
/// A matrix with ones on the diagonal; square unless `columns` is given.
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = std::nullopt, DType dtype = DType::f32,
           Where where = Where::current());

/// Uniform over [0, 1) in a float dtype. Every call draws anew from one counter-based sequence.
Tensor rand(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
/// Normal with mean 0 and variance 1 in a float dtype (Box-Muller, over rand's sequence).
Tensor randn(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
/// Starts the sequence of rand and randn anew; the same seed gives the same values on every device.
void manual_seed(std::int64_t seed);

namespace frontend {
/// A contiguous tensor with a copy of the elements; ShapeError when their number is not that of the shape.
Tensor copy_in(const void* elements, std::int64_t count, DType dtype, const Shape& shape,
               const Device& device, const Where& where);
}  // namespace frontend

/// A copy of `elements`, which are in row-major order, on the device. T is the C++ type of a dtype.
template <class T>
Tensor from_span(std::span<const T> elements, const Shape& shape, const Device& device = Device{},
                 Where where = Where::current()) {
  return frontend::copy_in(elements.data(), static_cast<std::int64_t>(elements.size()), dtype_of<T>, shape,
                           device, where);
}

/// A copy of `elements`, which are in row-major order, on the device.
///
///     from_vector<float>({1, 2, 3, 4}, {2, 2})
template <class T>
Tensor from_vector(const std::vector<T>& elements, const Shape& shape, const Device& device = Device{},
                   Where where = Where::current()) {
  if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no elements to copy from
    const std::vector<unsigned char> bytes(elements.begin(), elements.end());
    return frontend::copy_in(bytes.data(), static_cast<std::int64_t>(bytes.size()), DType::boolean, shape,
                             device, where);
  } else {
    return from_span<T>(elements, shape, device, where);
  }
}
/// The same with one axis.
template <class T>
Tensor from_vector(const std::vector<T>& elements) {
  return from_vector<T>(elements, Shape{static_cast<std::int64_t>(elements.size())});
}

/// A tensor over memory of yours, used in place: `data` is the address of the element (0, ..., 0), and
/// strides count elements and may be negative or 0. `deleter`, which may be empty, is called with `data` once
/// no tensor uses the memory; until then its contents must not change. On a GPU the memory must be ready for
/// the stream of the moment (see StreamScope), on which work may still be under way when `deleter` is called.
/// Throws ValueError for an address that is null or not a multiple of the element's size, ShapeError for
/// strides that do not fit the shape, DeviceError for memory that the device does not reach.
Tensor from_device(void* data, const Shape& shape, const Shape& strides, DType dtype,
                   std::function<void(void*)> deleter = {}, const Device& device = Device{},
                   Where where = Where::current());
/// The same for elements that lie side by side in row-major order.
Tensor from_device(void* data, const Shape& shape, DType dtype, std::function<void(void*)> deleter = {},
                   const Device& device = Device{}, Where where = Where::current());

}  // namespace sinter
