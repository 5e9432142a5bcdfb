#include "frontend/npy_header.h"

#include <fmt/ranges.h>

#include <array>
#include <charconv>

#include "ir/base/check.h"

namespace sinter::frontend {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

struct Code {
  DType dtype;
  std::string_view text;  // without the byte order
};
constexpr std::array<Code, 9> codes{{{DType::f64, "f8"},
                                     {DType::f32, "f4"},
                                     {DType::f16, "f2"},
                                     {DType::bf16, "u2"},
                                     {DType::int8, "i1"},
                                     {DType::uint8, "u1"},
                                     {DType::int32, "i4"},
                                     {DType::int64, "i8"},
                                     {DType::boolean, "b1"}}};

/// Reads the dictionary, which Python's literal syntax writes in several ways.
class DictReader {
 public:
  DictReader(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  void read(NpyHeader& header) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.descr = quoted();
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = truth();
        order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        shape = true;
      } else {
        bad(fmt::format("the key '{}' is not one of descr, fortran_order, shape", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) bad("the keys descr, fortran_order and shape must all be there");
  }

  [[noreturn]] void bad(std::string_view why) const {
    fail<ValueError>("{}: not a .npy file that can be read: {}", path_, why);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) bad(fmt::format("'{}' is missing at place {} of its header", c, at_));
  }

  std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) bad("records and other dtypes than plain ones are not supported");
    const std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }

  bool truth() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    bad("fortran_order is neither True nor False");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc()) bad("the shape is not a tuple of whole numbers");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long numbers so
      values.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  const std::string& path_;
  std::string_view text_;
  std::size_t at_ = 0;
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

NpyHeader parse_npy_header(const std::string& path, std::string_view bytes) {
  const DictReader outside(path, "");
  if (!bytes.starts_with(magic)) outside.bad("it does not begin with \\x93NUMPY");
  if (bytes.size() < 10) outside.bad("it ends within its header");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3)
    outside.bad(fmt::format("its version is {}; versions 1, 2 and 3 are known", major));
  const std::size_t length_bytes = major == 1 ? 2 : 4, start = magic.size() + 2 + length_bytes;
  if (bytes.size() < start) outside.bad("it ends within its header");
  const std::uint64_t length = little_endian(bytes.substr(magic.size() + 2, length_bytes));
  if (bytes.size() - start < length) outside.bad("it ends within its header");
  NpyHeader header;
  header.end = start + length;
  DictReader(path, bytes.substr(start, length)).read(header);
  std::string_view code = header.descr;
  header.big_endian = code.starts_with('>');
  if (code.starts_with('<') || code.starts_with('>') || code.starts_with('|') || code.starts_with('='))
    code.remove_prefix(1);
  header.is_uint16 = code == "u2";
  for (const Code& known : codes)
    if (known.text == code && known.dtype != DType::bf16) header.dtype = known.dtype;
  return header;
}

std::string npy_header(DType dtype, const std::vector<std::int64_t>& shape) {
  std::string_view code;
  for (const Code& known : codes)
    if (known.dtype == dtype) code = known.text;
  const char order = size_of(dtype) == 1 ? '|' : '<';
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order,
                                 code, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t before = magic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace sinter::frontend
