// Element types, the two 16-bit float types as C++ values, and the mapping from C++ types to dtypes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sinter {

enum class DType : std::uint8_t { f64, f32, f16, bf16, int8, uint8, int32, int64, boolean };

inline constexpr std::array all_dtypes{DType::f64,   DType::f32,   DType::f16,   DType::bf16,   DType::int8,
                                       DType::uint8, DType::int32, DType::int64, DType::boolean};

inline constexpr DType f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16,
                       int8 = DType::int8, uint8 = DType::uint8, int32 = DType::int32, int64 = DType::int64,
                       boolean = DType::boolean;

/// The name used in text forms, messages and the command line: "f32", "int64", "bool", ...
constexpr std::string_view name(DType t) {
  constexpr std::array<std::string_view, 9> names{"f64",   "f32",   "f16",   "bf16", "int8",
                                                  "uint8", "int32", "int64", "bool"};
  return names[static_cast<std::size_t>(t)];
}

/// The dtype of that name, or nothing.
constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (DType t : all_dtypes)
    if (name(t) == text) return t;
  return std::nullopt;
}

/// Bytes of one element in memory (bool takes one byte, 0 or 1).
constexpr int size_of(DType t) {
  constexpr std::array<int, 9> sizes{8, 4, 2, 2, 1, 1, 4, 8, 1};
  return sizes[static_cast<std::size_t>(t)];
}

constexpr bool is_float(DType t) {
  return t <= DType::bf16;
}
constexpr bool is_16bit_float(DType t) {
  return t == DType::f16 || t == DType::bf16;
}
/// Whole numbers; bool is not one of them.
constexpr bool is_whole(DType t) {
  return t >= DType::int8 && t <= DType::int64;
}
constexpr bool is_bool(DType t) {
  return t == DType::boolean;
}

/// The dtype in which two operands meet: bool < whole numbers < floats by category, the wider within one;
/// f16 with bf16 gives f32; uint8 with int8 gives int32.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_bool(a) != is_bool(b)) return is_bool(a) ? b : a;
  if (is_float(a)) {
    if (size_of(a) == size_of(b)) return DType::f32;  // f16 with bf16
    return size_of(a) > size_of(b) ? a : b;
  }
  if (size_of(a) == size_of(b)) return DType::int32;  // int8 with uint8
  return size_of(a) > size_of(b) ? a : b;
}

namespace detail {
/// Bits of `value` rounded to nearest even in a format of 16 bits with `mantissa` stored fraction bits.
constexpr std::uint16_t round_to_16_bits(float value, int mantissa) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const int exponent_bits = 15 - mantissa;
  const std::uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | infinity | (1u << (mantissa - 1)));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;  // as the target format stores it
  std::uint64_t fraction = magnitude & 0x7fffffu;
  int drop = 23 - mantissa;
  std::uint64_t base = 0;
  if (exponent > 0) {
    base = static_cast<std::uint64_t>(exponent) << 23 | fraction;
  } else {  // subnormal in the target: shift the full significand right
    if ((magnitude >> 23) != 0) fraction |= 0x800000u;
    base = fraction;
    const int shift = (magnitude >> 23) != 0 ? 1 - exponent : -exponent;
    drop += shift;
    if (drop > 40) drop = 40;
  }
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  const std::uint64_t kept = base >> drop, rest = base & ((std::uint64_t{1} << drop) - 1);
  std::uint64_t rounded = kept + ((rest > half || (rest == half && (kept & 1))) ? 1 : 0);
  if (rounded > infinity) rounded = infinity;
  return static_cast<std::uint16_t>(sign | rounded);
}
}  // namespace detail

/// IEEE binary16 as a value: storage and conversion only; arithmetic goes through float.
struct float16_t {
  std::uint16_t bits = 0;
  constexpr float16_t() = default;
  explicit constexpr float16_t(float value) : bits(detail::round_to_16_bits(value, 10)) {}
  explicit constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 31u, fraction = bits & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
};

/// bfloat16 as a value: storage and conversion only; arithmetic goes through float.
struct bfloat16_t {
  std::uint16_t bits = 0;
  constexpr bfloat16_t() = default;
  explicit constexpr bfloat16_t(float value) : bits(detail::round_to_16_bits(value, 7)) {}
  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// dtype_of<T>: the dtype that holds values of the C++ type T.
template <class T>
struct dtype_of_type;
template <>
struct dtype_of_type<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of_type<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of_type<float16_t> {
  static constexpr DType value = DType::f16;
};
template <>
struct dtype_of_type<bfloat16_t> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of_type<std::int8_t> {
  static constexpr DType value = DType::int8;
};
template <>
struct dtype_of_type<std::uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <>
struct dtype_of_type<std::int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct dtype_of_type<std::int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct dtype_of_type<bool> {
  static constexpr DType value = DType::boolean;
};
template <class T>
inline constexpr DType dtype_of = dtype_of_type<T>::value;

/// Calls `f` with a value-initialised C++ value of the dtype's type; the one switch over dtypes that code
/// needs.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::f64:
      return f(double{});
    case DType::f32:
      return f(float{});
    case DType::f16:
      return f(float16_t{});
    case DType::bf16:
      return f(bfloat16_t{});
    case DType::int8:
      return f(std::int8_t{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::boolean:
      break;
  }
  return f(bool{});
}

}  // namespace sinter
