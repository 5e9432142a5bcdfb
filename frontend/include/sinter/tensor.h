// The tensor: an immutable, reference-counted array with strides.
//
// A Tensor is one of three things, which its user need not tell apart: memory; a generator (zeros, arange,
// rand), which becomes part of the program that first uses it; or, inside a function given to
// sinter::compile, a value of the program being captured. Copies and views share memory and cost nothing. The
// functions over tensors are in functions.h and composites.h, those that make tensors in create.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "sinter/device.h"
#include "sinter/dtype.h"
#include "sinter/shape.h"

namespace sinter {

namespace frontend {
struct TensorImpl;
}

class Tensor {
 public:
  /// No tensor; using it is a ValueError. For optional operands and members filled in later.
  Tensor() = default;
  /// Whether this is a tensor.
  bool defined() const { return impl_ != nullptr; }

  DType dtype() const;
  /// Throws UnsupportedError for a tensor of a lowered program with a length that has no value.
  Shape shape() const;
  /// The length of one axis; a negative axis counts from the last.
  std::int64_t length(std::int64_t axis) const;
  int rank() const;
  /// Number of elements.
  std::int64_t size() const;
  /// Bytes of all elements, as if they lay side by side.
  std::size_t nbytes() const;
  Device device() const;

  /// Steps between elements along each axis, in elements; 0 or negative in broadcast and flipped views. Like
  /// everything below it needs memory: inside a compiled function it throws UnsupportedError.
  Shape strides() const;
  /// Whether the elements lie side by side in row-major order.
  bool contiguous() const;
  /// Address of the element (0, ..., 0).
  const void* data() const;
  /// The same, typed. T must be the C++ type of the dtype (float, float16_t, std::int64_t, ...), else
  /// DTypeError.
  template <class T>
  const T* data() const {
    require_dtype(dtype_of<T>);
    return static_cast<const T*>(data());
  }

  /// The only element. A floating T takes any dtype, a whole T whole numbers and bool, bool only bool.
  template <class T>
  T item() const {
    static_assert(std::is_arithmetic_v<T>, "item<T>() gives a C++ number");
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(item_as_real());
    else
      return static_cast<T>(item_as_whole(std::is_same_v<T, bool>));
  }
  /// All elements in row-major order. T must be the C++ type of the dtype.
  template <class T>
  std::vector<T> to_vector() const {
    require_dtype(dtype_of<T>);
    if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no elements to copy to
      std::vector<unsigned char> bytes(static_cast<std::size_t>(size()));
      copy_to(bytes.data());
      return {bytes.begin(), bytes.end()};
    } else {
      std::vector<T> elements(static_cast<std::size_t>(size()));
      copy_to(elements.data());
      return elements;
    }
  }
  /// Writes all elements in row-major order, nbytes() bytes, to `destination`.
  void copy_to(void* destination) const;

  /// The same values in another dtype: rounded, wrapped or saturated as docs/numerics.md says.
  Tensor astype(DType dtype) const;
  Tensor cast(DType dtype) const { return astype(dtype); }
  Tensor to(DType dtype) const { return astype(dtype); }
  Tensor to(const Device& device) const;

  /// The truth of a single element: whether it differs from zero.
  ///
  /// x == y compares element by element and gives a tensor. So `if (x == y)` holds for scalars only, and is a
  /// ValueError otherwise; array_equal(x, y) answers for whole tensors. Algorithms of the standard library
  /// that compare with == (std::find, == of containers) come here, too.
  explicit operator bool() const;

  /// Dtype, shape and values, the middle of long axes left out, as operator<< prints it.
  std::string str() const;

  explicit Tensor(std::shared_ptr<const frontend::TensorImpl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const frontend::TensorImpl>& impl() const { return impl_; }

 private:
  void require_dtype(DType wanted) const;
  double item_as_real() const;
  std::int64_t item_as_whole(bool wants_bool) const;

  std::shared_ptr<const frontend::TensorImpl> impl_;
};

std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace sinter
