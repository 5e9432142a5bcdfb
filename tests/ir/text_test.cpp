// The text form: what prints comes back, what people write is taken, and what is wrong is shown in its place.
#include <clocale>
#include <limits>
#include <locale>
#include <string>

#include "ir/build.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "sinter/error.h"
#include "tests/catch.h"

using namespace sinter;
using namespace sinter::ir;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Prints, parses and prints again; the two texts must agree, and so must the graphs node by node.
std::string round_trip(const Graph& g) {
  const std::string text = print(g);
  INFO(text);
  const Graph back = parse(text);
  verify(back);
  CHECK(print(back) == text);
  REQUIRE(back.size() == g.size());
  for (std::uint32_t id = 0; id < g.size(); ++id) {
    const Value v{id};
    CHECK(back.op(v) == g.op(v));
    CHECK(back.attrs(v) == g.attrs(v));
    CHECK(std::vector<Value>(back.operands(v).begin(), back.operands(v).end()) ==
          std::vector<Value>(g.operands(v).begin(), g.operands(v).end()));
  }
  CHECK(back.name() == g.name());
  CHECK(back.facts() == g.facts());
  REQUIRE(back.outputs().size() == g.outputs().size());
  for (std::size_t i = 0; i < g.outputs().size(); ++i) {
    CHECK(back.outputs()[i].name == g.outputs()[i].name);
    CHECK(back.outputs()[i].value == g.outputs()[i].value);
  }
  return text;
}

/// The text of the graph that the lines make over x: f32[3, 4], n: int32[4] and c: bool[].
std::string lines(const std::string& body) {
  const Graph g = parse("graph @g(%x: f32[3, 4], %n: int32[4], %c: bool[]) {\n" + body + "\n}");
  verify(g);
  const std::string text = round_trip(g);
  const std::size_t begin = text.find('\n') + 1;
  return text.substr(begin, text.rfind("\n}") - begin);
}

std::string error_of(const std::string& text) {
  try {
    parse(text, "file.graph");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_in(const std::string& line) {
  return error_of("graph @g(%x: f32[3, 4], %n: int32[4]) {\n  " + line + "\n  return %y\n}\n");
}

}  // namespace

TEST_CASE("a graph prints as the design shows it") {
  Graph g("gelu");
  const Value x = g.input("x", f32, {Dim::symbol("M"), 4096});
  const Value w = g.input("w", bf16, {4096});
  g.facts().divisor["M"] = 8;
  const Value square = elementwise(g, Op::mul, std::vector<Operand>{x, x});
  const Value scaled = elementwise(g, Op::mul, std::vector<Operand>{square, Literal{0.044715}});
  const Value total = reduce(g, Op::sum, scaled, {{1}}, true);
  const Value wide = cast(g, w, f32);
  g.output(total);
  g.output(wide, "weights");
  CHECK(round_trip(g) ==
        "graph @gelu(%x: f32[M, 4096], %w: bf16[4096]) where M % 8 == 0 {\n"
        "  %0 = mul(%x, %x)\n"
        "  %1 = mul(%0, 0.044715)\n"
        "  %2 = sum(%1, axes=[1], keepdims=true)\n"
        "  %3 = cast(%w, dtype=f32)\n"
        "  return %2, weights=%3\n"
        "}\n");
}

TEST_CASE("every family's attributes come back as written") {
  const std::string text =
      "  %0 = permute_dims(%x, axes=[1, 0])\n"
      "  %1 = slice(%x, starts=[2, 3], lengths=[3, 2], steps=[-1, -2])\n"
      "  %2 = pad(%x, before=[1, 0], after=[0, 2], value=-0.0)\n"
      "  %3 = concat(%x, %x, axis=0)\n"
      "  %4 = flip(%x, axes=[0, 1])\n"
      "  %5 = reshape(%x, shape=[2, 6])\n"
      "  %6 = broadcast_to(%c, shape=[2, 3])\n"
      "  %7 = argmax(%x, axes=[0])\n"
      "  %8 = prod(%x, axes=[], keepdims=true)\n"
      "  %9 = take(%x, %n, axis=1)\n"
      "  %10 = cast(%n, dtype=bf16)\n"
      "  %11 = matmul(%x, %0)\n"
      "  %12 = iota(shape=[2, 3], axis=1, dtype=f32)\n"
      "  %13 = random_bits(int64(7), int64(1), shape=[5])\n"
      "  return %13";
  CHECK(lines(text) == text);
}

TEST_CASE("movements that change nothing come back") {
  const std::string text =
      "  %0 = cast(%x, dtype=f32)\n"
      "  %1 = broadcast_to(%x, shape=[3, 4])\n"
      "  %2 = reshape(%x, shape=[3, 4])\n"
      "  %3 = permute_dims(%x, axes=[0, 1])\n"
      "  %4 = slice(%x, starts=[0, 0], lengths=[3, 4], steps=[1, 1])\n"
      "  %5 = flip(%x, axes=[])\n"
      "  %6 = concat(%x, axis=1)\n"
      "  return %6";
  CHECK(lines(text) == text);
}

TEST_CASE("constants print plainly where the dtype of the others gives theirs, else with it") {
  CHECK(lines("%0 = add(%x, 1) return %0") == "  %0 = add(%x, 1.0)\n  return %0");
  CHECK(lines("%0 = add(%n, 1) return %0") == "  %0 = add(%n, 1)\n  return %0");
  CHECK(lines("%0 = where(%c, 1.0, 0.0) return %0") == "  %0 = where(%c, 1.0, 0.0)\n  return %0");
  CHECK(lines("%0 = where(%c, f64(1.0), f64(0.0)) return %0") ==
        "  %0 = where(%c, f64(1.0), f64(0.0))\n  return %0");
  CHECK(lines("%0 = where(bool(true), %x, f32(nan:0xffc00001)) return %0") ==
        "  %0 = where(bool(true), %x, f32(nan:0xffc00001))\n  return %0");
  CHECK(lines("%0 = broadcast_to(bf16(1.5), shape=[2, 3]) return %0, int8(3)") ==
        "  %0 = broadcast_to(bf16(1.5), shape=[2, 3])\n  return %0, int8(3)");
}

TEST_CASE("constants that stand elsewhere than where they are used keep their place") {
  Graph g("g");
  const Value x = g.input("x", f32, {});
  const Value unused = g.constant(Scalar::from_real(f32, 7.0L));
  const Value two = g.constant(Scalar::from_real(f32, 2.0L)),
              three = g.constant(Scalar::from_real(f32, 3.0L));
  const Value a[] = {x, three}, b[] = {x, two};
  g.output(g.add(Op::mul, b));
  g.output(g.add(Op::mul, a));
  g.output(g.constant(Scalar::from_real(f32, 9.0L)));
  CHECK(unused.id == 1);
  CHECK_THAT(round_trip(g), ContainsSubstring("%0 = constant(f32(7.0))"));
}

TEST_CASE("every f16 and bf16, and the extremes of the wider floats, go through bit for bit") {
  for (DType t : {f16, bf16}) {
    Graph g("all");
    for (std::uint64_t bits = 0; bits < 65536; ++bits) g.output(g.constant({t, bits}));
    const Graph back = parse(print(g));
    REQUIRE(back.outputs().size() == 65536);
    bool same = true;
    for (std::uint64_t bits = 0; bits < 65536; ++bits)
      same = same && back.attrs(back.outputs()[bits].value).value == Scalar{t, bits};
    CHECK(same);
  }
  Graph g("extremes");
  for (std::uint32_t bits : {0u, 0x80000000u, 1u, 0x807fffffu, 0x00800000u, 0x7f7fffffu, 0x7f800000u,
                             0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x3dcccccdu, 0x4b800000u})
    g.output(g.constant({f32, bits}));
  for (std::uint64_t bits : {0ull, 1ull, 0x8000000000000000ull, 0x7fefffffffffffffull, 0x7ff0000000000001ull,
                             0x3fb999999999999aull, 0x000fffffffffffffull})
    g.output(g.constant({f64, bits}));
  for (std::int64_t n : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    g.output(g.constant(Scalar::from_whole(int64, n)));
  round_trip(g);
}

TEST_CASE("a locale with a decimal comma changes nothing") {
  struct German : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale old = std::locale::global(std::locale(std::locale::classic(), new German));
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed, C's functions follow, too
  const std::string text = lines("%0 = add(%x, 1234.5) return %0");
  std::setlocale(LC_ALL, "C");
  std::locale::global(old);
  CHECK(text == "  %0 = add(%x, 1234.5)\n  return %0");
}

TEST_CASE("names of any kind come back") {
  Graph g("graph }\n*/ \\");
  for (const char* name : {"x", "x;}//", "int", "tanh", "*/", "new\nline\t\r", "back\\", "quo\"te", "", "7",
                           "héllo ✓", "return", "\x01\x7f", "inf", "a.b"})
    g.output(g.input(name, f32, {2}), name);
  for (int twin = 0; twin < 2; ++twin) g.output(g.input("x", f32, {2}));
  g.output(g.input(std::string(70000, 'n'), f32, {2}), std::string(70000, 'o'));
  round_trip(g);
}

TEST_CASE("symbolic shapes and facts come back") {
  const Graph g = parse(
      "graph @g(%x: f32[M, 2*M*N + 3, K - 1]) where M % 8 == 0, M >= 1, N >= 2 {\n"
      "  %0 = slice(%x, ranges=[::-1])\n"
      "  %1 = reshape(%x, shape=[-1])\n"
      "  return %0, %1 }");
  CHECK(g.facts().divisor.at("M") == 8);
  CHECK(g.facts().minimum.at("N") == 2);
  round_trip(g);
}

TEST_CASE("people may write loosely") {
  CHECK(lines("%mean = multiply(sum(%x, axis=-1, keepdims=true), 0.25)  # nested, API names, negative axes\n"
              "// a line name, and broadcasting\n"
              "return subtract(%x, %mean)") ==
        "  %0 = sum(%x, axes=[1], keepdims=true)\n"
        "  %1 = mul(%0, 0.25)\n"
        "  %2 = broadcast_to(%1, shape=[3, 4])\n"
        "  %3 = sub(%x, %2)\n"
        "  return %3");
  CHECK(lines("return max(%x), add(%x, %n)") ==
        "  %0 = max(%x, axes=[0, 1])\n"
        "  %1 = cast(%n, dtype=f32)\n"
        "  %2 = broadcast_to(%1, shape=[3, 4])\n"
        "  %3 = add(%x, %2)\n"
        "  return %0, %3");
  CHECK(lines("return slice(%x, ranges=[1:, :-1:2])") ==
        "  %0 = slice(%x, starts=[1, 0], lengths=[2, 2], steps=[1, 2])\n  return %0");
  CHECK(lines("%x2 = %x return exp(%x2)") == "  %0 = exp(%x)\n  return %0");
}

TEST_CASE("an expression reads over given names") {
  Graph g;
  const Value a = g.input("a", f32, {}), y = g.input("y", f32, {});
  const std::map<std::string, Value, std::less<>> names{{"g", a}, {"y", y}};
  const Operand result = parse_expression(g, "mul(g, sub(1, mul(y, y)))", names);
  g.output(std::get<Value>(result));
  CHECK_THAT(print(g), ContainsSubstring("%1 = sub(1.0, %0)"));
  CHECK(std::get<std::int64_t>(std::get<Literal>(parse_expression(g, "0", names)).value) == 0);
  CHECK_THROWS_AS(parse_expression(g, "mul(g, z)", names), ValueError);
}

TEST_CASE("an error shows file, line, column, the line and a caret") {
  CHECK(error_in("%y = add(%x, %zz)") ==
        "file.graph:2:16: %zz is not defined above\n"
        "    %y = add(%x, %zz)\n"
        "                 ^");
  CHECK(error_of("graph @g(%\"ü\": f32[3], ?") ==
        "file.graph:1:24: expected '%', found '?'\n"
        "  graph @g(%\"ü\": f32[3], ?\n"
        "                         ^");
}

TEST_CASE("the place of an error in a very long line is shown with what is around it") {
  const std::string error = error_in("%y = add(%x, %" + std::string(70000, 'z') + ")");
  CHECK(error.size() < 71000);
  CHECK_THAT(error, ContainsSubstring("file.graph:2:16:"));
  CHECK(error.substr(error.find('\n')).size() < 300);
}

TEST_CASE("what was expected is said") {
  CHECK_THAT(error_in("%y = tahn(%x)"),
             ContainsSubstring("unknown operation 'tahn'; the nearest known are tan, tanh, "));
  CHECK_THAT(error_in("%y = gather(%x, %n)"),
             ContainsSubstring("2:8: unknown operation 'gather'; here that is take and take_along_axis\n"));
  CHECK_THAT(error_in("%y = transpose(%x)"), ContainsSubstring("here that is permute_dims\n"));
  CHECK_THAT(error_in("%y = softmax(%x)"), ContainsSubstring("unknown operation 'softmax'"));
  CHECK_THAT(error_in("%y = add(%x %x)"), ContainsSubstring("expected ',', found '%'"));
  CHECK_THAT(error_in("%y = add(%x, x)"), ContainsSubstring("values are written with a sign: %x"));
  CHECK_THAT(error_in("%y = sum(%x, keepdim=true)"),
             ContainsSubstring("sum takes no attribute 'keepdim'; there are axes, axis, keepdims, dtype"));
  CHECK_THAT(error_in("%y = exp(%x, axes=[1])"), ContainsSubstring("exp takes no attributes"));
  CHECK_THAT(error_in("%y = sum(%x, axes=[1], axis=0)"), ContainsSubstring("given twice"));
  CHECK_THAT(error_in("%y = cast(%x, dtype=f31)"), ContainsSubstring("expected a dtype"));
  CHECK_THAT(error_in("%y = cast(%x)"), ContainsSubstring("cast: needs the attribute dtype"));
  CHECK_THAT(error_in("%x = exp(%x)"), ContainsSubstring("%x is defined already"));
  CHECK_THAT(error_in("%y = input(%x)"), ContainsSubstring("inputs are declared"));
  CHECK_THAT(error_in("%y = f32(nan:0x1)"), ContainsSubstring("expected the bits of a NaN of f32"));
  CHECK_THAT(error_in("%y = add(%n, 99999999999999999999)"), ContainsSubstring("out of range"));
  CHECK_THAT(error_in("%y = \"abc"), ContainsSubstring("this quote is not closed"));
  CHECK_THAT(error_in("%y = reshape(%x, shape=[2 ? 5])"), ContainsSubstring("'2 ? 5' is not a length"));
  CHECK_THAT(error_of("graph @g() { return }  more"),
             ContainsSubstring("expected the end of the text, found 'more'"));
  CHECK_THAT(error_of("graph @g(%x: f32[1], %x: f32[1]) { return }"), ContainsSubstring("expected %x~2"));
  CHECK_THAT(error_of("graph @g(%\"\\q\": f32[1]) { return }"), ContainsSubstring("unknown escape"));
  CHECK_THAT(error_of("graph @g(%x: f32[M]) where M % 8 == 1 { return }"), ContainsSubstring("expected 0"));
  CHECK_THAT(error_of(""), ContainsSubstring("expected 'graph', found the end of the text"));
}

TEST_CASE("facts are about lengths of the inputs, and one of a kind") {
  const auto fact_error = [](const std::string& facts) {
    return error_of("graph @g(%x: f32[M, 2*N]) where " + facts + " {\n  return %x\n}");
  };
  CHECK(fact_error("M >= 1, K % 8 == 0") ==
        "file.graph:1:41: no input has K in its shape; there are M, N\n"
        "  graph @g(%x: f32[M, 2*N]) where M >= 1, K % 8 == 0 {\n"
        "                                          ^");
  CHECK_THAT(fact_error("m >= 1"), ContainsSubstring("no input has m in its shape"));
  CHECK_THAT(error_of("graph @g(%x: f32[4]) where K >= 1 { return %x }"),
             ContainsSubstring("no input has K in its shape; their lengths are all numbers"));
  CHECK_THAT(fact_error("N % 8 == 0, N % 3 == 0"),
             ContainsSubstring("file.graph:1:45: there is a fact N % already"));
  CHECK_THAT(fact_error("N >= 8, N >= 3"), ContainsSubstring("there is a fact N >= already"));
  CHECK(fact_error("N % 8 == 0, N >= 3, M % 8 == 0") == "no error");
}

TEST_CASE("no two results have one name") {
  const auto result_error = [](const std::string& results) {
    return error_of("graph @g(%x: f32[4]) {\n  return " + results + "\n}");
  };
  CHECK(result_error("%x, total=%x, total=%x") ==
        "file.graph:2:24: there is a result named total already\n"
        "    return %x, total=%x, total=%x\n"
        "                         ^");
  CHECK_THAT(
      result_error("%x, out0=%x"),
      ContainsSubstring("2:14: there is a result named out0 already; without a name, results are out0, "
                        "out1, ... by their places"));
  CHECK_THAT(result_error("out1=%x, %x"),
             ContainsSubstring("2:19: there is a result named out1 already; without a name, "));
  CHECK_THAT(result_error("\"two words\"=%x, \"two words\"=%x"),
             ContainsSubstring("there is a result named \"two words\" already"));
  CHECK(result_error("out1=%x, out0=%x, %x, x=%x") == "no error");
}

TEST_CASE("wrong shapes and dtypes raise the builder's error with its place") {
  CHECK_THROWS_AS(parse("graph @g(%x: f32[3, 4]) { return matmul(%x, %x) }"), ShapeError);
  CHECK_THROWS_AS(parse("graph @g(%x: f32[3, 4]) { return left_shift(%x, %x) }"), DTypeError);
  CHECK_THROWS_AS(parse("graph @g(%x: f32[0]) { return max(%x) }"), ValueError);
  CHECK_THROWS_AS(parse("graph @g(%x: f32[M]) { return slice(%x, ranges=[1:]) }"), UnsupportedError);
  CHECK_THAT(error_in("%y = add(1, matmul(%x, %x))"),
             ContainsSubstring("file.graph:2:15: matmul(f32[3, 4], f32[3, 4])"));
}

TEST_CASE("calls nest deeper than the stack") {
  std::string text = "graph @g(%x: f32[]) { return ";
  for (int i = 0; i < 200000; ++i) text += "exp(";
  text += "%x" + std::string(200000, ')') + "}";
  CHECK(parse(text).size() == 200001);
}
