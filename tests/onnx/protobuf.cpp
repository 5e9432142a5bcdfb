#include "tests/onnx/protobuf.h"

#include <bit>
#include <cstring>

#include "ir/base/check.h"

namespace sinter::testing::onnx {
namespace {

std::string_view take(std::string_view& rest, std::uint64_t count) {
  if (count > rest.size()) fail<ValueError>("protobuf: {} bytes expected, {} left", count, rest.size());
  const std::string_view taken = rest.substr(0, count);
  rest.remove_prefix(count);
  return taken;
}

std::uint64_t take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(take(rest, 1)[0]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail<ValueError>("protobuf: a number of more than 10 bytes");
}

/// A little-endian number of fixed size.
template <class T>
T take_fixed(std::string_view& rest) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, take(rest, sizeof(T)).data(), sizeof(T));
  return value;
}

}  // namespace

float Field::real() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

std::optional<Field> FieldReader::next() {
  enum WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  if (rest_.empty()) return std::nullopt;
  const std::uint64_t key = take_varint(rest_);
  Field field;
  field.number = static_cast<int>(key >> 3);
  switch (key & 7) {
    case varint:
      field.bits = take_varint(rest_);
      break;
    case fixed64:
      field.bits = take_fixed<std::uint64_t>(rest_);
      break;
    case fixed32:
      field.bits = take_fixed<std::uint32_t>(rest_);
      break;
    case bytes:
      field.is_bytes = true;
      field.bytes = take(rest_, take_varint(rest_));
      break;
    default:
      fail<ValueError>("protobuf: unknown wire type {}", key & 7);
  }
  return field;
}

void append_integers(const Field& field, std::vector<std::int64_t>& into) {
  if (!field.is_bytes) return into.push_back(field.integer());
  for (std::string_view rest = field.bytes; !rest.empty();)
    into.push_back(static_cast<std::int64_t>(take_varint(rest)));
}

void append_floats(const Field& field, std::vector<float>& into) {
  if (!field.is_bytes) return into.push_back(field.real());
  for (std::string_view rest = field.bytes; !rest.empty();) into.push_back(take_fixed<float>(rest));
}

void append_doubles(const Field& field, std::vector<double>& into) {
  if (!field.is_bytes) return into.push_back(std::bit_cast<double>(field.bits));
  for (std::string_view rest = field.bytes; !rest.empty();) into.push_back(take_fixed<double>(rest));
}

}  // namespace sinter::testing::onnx
