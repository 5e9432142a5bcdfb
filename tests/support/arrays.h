// Making host arrays from lists of numbers and reading them back.
#pragma once

#include <initializer_list>
#include <vector>

#include "ir/array.h"

namespace sinter::testing {

/// Numbers rounded, or wrapped, into an array of a dtype.
inline ir::Array array_of(DType t, std::vector<std::int64_t> shape, const std::vector<double>& numbers) {
  ir::Array array(t, std::move(shape));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    array.set(static_cast<std::int64_t>(i), ir::Scalar::from_real(t, numbers[i]));
  return array;
}

inline ir::Array vector_of(DType t, const std::vector<double>& numbers) {
  return array_of(t, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

inline std::vector<double> numbers_of(const ir::Array& array) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < array.elements(); ++i)
    numbers.push_back(static_cast<double>(array.at(i).real()));
  return numbers;
}

/// The elements' bits, for comparisons in which NaN equals itself and -0.0 differs from 0.0.
inline std::vector<std::uint64_t> bits_of(const ir::Array& array) {
  std::vector<std::uint64_t> bits;
  for (std::int64_t i = 0; i < array.elements(); ++i) bits.push_back(array.at(i).bits);
  return bits;
}

}  // namespace sinter::testing
