// The wire format of protocol buffers, as far as reading needs it: a message is a sequence of numbered
// fields.
//
// Meaning comes from whoever reads: the format itself does not tell a string from a nested message.
// Everything points into the text that was handed in; nothing is copied. Text that is cut short throws
// ValueError.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sinter::testing::onnx {

struct Field {
  int number = 0;
  std::uint64_t bits = 0;  // of a varint, or of 4 or 8 fixed bytes
  std::string_view bytes;  // of a string, a nested message, or packed numbers
  bool is_bytes = false;

  std::int64_t integer() const { return static_cast<std::int64_t>(bits); }
  float real() const;  // 4 fixed bytes
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : rest_(message) {}
  /// The next field, or nothing at the end.
  std::optional<Field> next();

 private:
  std::string_view rest_;
};

/// Appends the numbers of a repeated field, which is packed into bytes or holds one number.
void append_integers(const Field& field, std::vector<std::int64_t>& into);
void append_floats(const Field& field, std::vector<float>& into);
void append_doubles(const Field& field, std::vector<double>& into);

}  // namespace sinter::testing::onnx
