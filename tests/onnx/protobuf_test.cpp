// The reader of the wire format, on messages written by hand after its specification.
#include "tests/onnx/protobuf.h"

#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/onnx/model.h"

using namespace std::string_view_literals;
using namespace sinter;
using namespace sinter::testing::onnx;

TEST_CASE("a field of the wire format has its number and its value") {
  FieldReader reader(
      "\x08\x96\x01\x12\x03"
      "abc"
      "\x1d\x00\x00\x80\x3f"sv);
  const auto number = reader.next(), text = reader.next(), real = reader.next();
  REQUIRE(number);
  CHECK(number->number == 1);
  CHECK(number->integer() == 150);
  REQUIRE(text);
  CHECK(text->number == 2);
  CHECK(text->bytes == "abc");
  REQUIRE(real);
  CHECK(real->number == 3);
  CHECK(real->real() == 1.0f);
  CHECK_FALSE(reader.next());
}

TEST_CASE("a negative number of the wire format takes ten bytes") {
  FieldReader reader("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv);
  CHECK(reader.next()->integer() == -1);
}

TEST_CASE("packed and single numbers of the wire format append alike") {
  std::vector<std::int64_t> numbers;
  FieldReader reader("\x0a\x03\x01\x96\x01\x08\x02"sv);
  append_integers(*reader.next(), numbers);
  append_integers(*reader.next(), numbers);
  CHECK(numbers == std::vector<std::int64_t>{1, 150, 2});
}

TEST_CASE("a message of the wire format that is cut short is an error") {
  for (std::string_view text : {"\x08"sv, "\x08\x96"sv,
                                "\x12\x05"
                                "abc"sv,
                                "\x1d\x00\x00"sv, "\x0b"sv}) {
    FieldReader reader(text);
    CHECK_THROWS_AS(reader.next(), ValueError);
  }
}

TEST_CASE("an ONNX tensor is read from raw bytes and from typed fields alike") {
  const ir::Array raw = parse_tensor("\x08\x02\x10\x01\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40"sv);
  const ir::Array typed = parse_tensor("\x08\x02\x10\x01\x22\x08\x00\x00\x80\x3f\x00\x00\x00\x40"sv);
  CHECK(raw.shape == std::vector<std::int64_t>{2});
  CHECK(raw.at(1).real() == 2.0L);
  CHECK(raw.data == typed.data);
}

TEST_CASE("an ONNX tensor of a dtype that sinter lacks is refused by name") {
  CHECK_THROWS_WITH(parse_tensor("\x08\x00\x10\x08"sv), Catch::Matchers::ContainsSubstring("dtype string"));
}
