#include "ir/array.h"

#include <cstring>

namespace sinter::ir {

Array::Array(DType dtype, std::vector<std::int64_t> shape) : dtype(dtype), shape(std::move(shape)) {
  data.resize(static_cast<std::size_t>(elements()) * static_cast<std::size_t>(size_of(dtype)));
}

std::int64_t Array::elements() const {
  std::int64_t n = 1;
  for (std::int64_t length : shape) n *= length;
  return n;
}

Scalar Array::at(std::int64_t index) const {
  return visit_dtype(dtype, [&](auto type) {
    using T = decltype(type);
    T element;
    std::memcpy(&element, data.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, double>)
      return Scalar{dtype, std::bit_cast<std::uint64_t>(element)};
    else if constexpr (std::is_same_v<T, float>)
      return Scalar{dtype, std::bit_cast<std::uint32_t>(element)};
    else if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
      return Scalar{dtype, element.bits};
    else
      return Scalar{dtype, static_cast<std::uint64_t>(static_cast<std::int64_t>(element))};
  });
}

void Array::set(std::int64_t index, Scalar value) {
  // Little-endian: the low bytes of the bits are the element.
  const auto size = static_cast<std::size_t>(size_of(dtype));
  std::memcpy(data.data() + static_cast<std::size_t>(index) * size, &value.bits, size);
}

}  // namespace sinter::ir
