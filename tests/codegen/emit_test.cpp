// The generated text: one per class of kernels, made of nothing that users wrote.
#include <fmt/format.h>

#include <clocale>
#include <ctime>
#include <locale>
#include <set>

#include "codegen/emit_body.h"
#include "ir/build.h"
#include "runtime/program.h"
#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;
using ir::Operand;
using ir::Value;

namespace {

const Target targets[] = {Target::cpu(), Target::cuda("sm_90a")};

std::string text_of(std::string_view inputs, std::string_view body, const Target& target = Target::cpu()) {
  return source_of(kernel_of(inputs, body), target).text;
}

constexpr const char* softmax =
    "%m = max(%x, axes=[1], keepdims=true)\n  %e = exp(sub(%x, %m))\n  return div(%e, sum(%e, axes=[1], "
    "keepdims=true))";

/// A graph whose own name and whose inputs and outputs have these names.
ir::Graph named(const std::string& text) {
  ir::Graph g(text);
  const Value x = g.input(text, f32, {4, 8}), y = g.input(text + "2", f32, {4, 8});
  g.output(ir::elementwise(g, ir::Op::tanh,
                           std::vector<Operand>{ir::elementwise(g, ir::Op::add, std::vector<Operand>{x, y})}),
           text);
  return g;
}

std::string program_source(ir::Graph g, const Target& target) {
  runtime::ProgramOptions options;
  options.target = target;
  return runtime::Program::build(std::move(g), options)->source();
}

/// Numbers as nobody wants them in source: "1.234.567,5".
struct Grouping : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

}  // namespace

TEST_CASE("shapes of one class share their text") {
  for (const Target& target : targets) {
    CHECK(text_of("%x: f32[64, 4000])", softmax, target) == text_of("%x: f32[32, 3900])", softmax, target));
    CHECK(text_of("%x: f32[64, 128])", "return neg(%x)", target) ==
          text_of("%x: f32[4, 4, 4])", "return neg(%x)", target));
  }
  CHECK(text_of("%x: f32[M, 128])", softmax) == text_of("%x: f32[7, 9])", softmax));
  CHECK(text_of("%x: f32[8, 100])", "return neg(permute_dims(%x, axes=[1, 0]))") ==
        text_of("%x: f32[31, 7])", "return neg(permute_dims(%x, axes=[1, 0]))"));
}

TEST_CASE("literals are arguments, and not in the text") {
  for (const Target& target : targets)
    CHECK(text_of("%x: f32[64])", "return mul(add(%x, 0.044715), 3)", target) ==
          text_of("%x: f32[64])", "return mul(add(%x, -1e-30), inf)", target));
}

TEST_CASE("dtypes, operations and vector widths are in the text") {
  CHECK(text_of("%x: f32[64])", "return neg(%x)") != text_of("%x: f64[64])", "return neg(%x)"));
  CHECK(text_of("%x: f32[64])", "return neg(%x)") != text_of("%x: f32[64])", "return abs(%x)"));
  CHECK(text_of("%x: f32[64])", "return neg(%x)", targets[1]) !=
        text_of("%x: f32[63])", "return neg(%x)", targets[1]));
}

TEST_CASE("nothing that users named is in the text") {
  const std::string plain = program_source(named("x"), targets[0]);
  const std::string plain_cuda = program_source(named("x"), targets[1]);
  for (const std::string& text :
       {std::string("int"), std::string("tanh"), std::string("x;}//"), std::string("*/"), std::string("a\nb"),
        std::string("ends in \\"), std::string("größe Ω"), std::string("%d {} \0 zero", 13),
        std::string("\"; #include <x>"), std::string(70000, 'q')}) {
    CHECK(program_source(named(text), targets[0]) == plain);
    CHECK(program_source(named(text), targets[1]) == plain_cuda);
  }
}

TEST_CASE("a comma for a decimal point and grouped digits change nothing") {
  const auto print_all = [] {
    std::string all;
    for (const Target& target : targets) {
      const Kernel k = kernel_of("%x: f32[4096, 131072])", softmax);
      const KernelSource source = source_of(k, target);
      all += source.header + source.text + k.str();
    }
    return all;
  };
  const std::string before = print_all();
  const std::locale global = std::locale::global(std::locale(std::locale::classic(), new Grouping));
  const std::string numeric = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"})
    if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
  const std::string after = print_all();
  std::locale::global(global);
  std::setlocale(LC_NUMERIC, numeric.c_str());
  CHECK(after == before);
}

TEST_CASE("a comment says what the kernel is, and is no part of its key") {
  for (const Target& target : targets) {
    const KernelSource source = source_of(kernel_of("%x: f32[64, 128])", softmax), target);
    CHECK_THAT(source.header, ContainsSubstring("// fused_max_sub_exp_sum_div\n"));
    CHECK_THAT(source.header, ContainsSubstring("// computes max sub exp sum div\n"));
    CHECK_THAT(source.header, ContainsSubstring("// over     64 x 128 (folded)\n"));
    CHECK_THAT(source.header, ContainsSubstring("// schedule "));
    CHECK_THAT(source.header, ContainsSubstring("// reads 32768 bytes, writes 32768 bytes\n"));
    CHECK(source.text.find("64 x 128") == std::string::npos);
    CHECK(source.text.find("schedule") == std::string::npos);
  }
}

TEST_CASE("rows in shared memory, copied in bulk, may be taken by single elements") {
  const Target target = Target::cuda("sm_90a");
  const Kernel k = kernel_of("%x: f64[8, 40000])", softmax);
  Schedule s = schedule_of(k, target);
  REQUIRE_FALSE(s.bulk_loads.empty());
  s.vector = 1;
  for (std::vector<Factor>& factors : s.axes)
    std::erase_if(factors, [](const Factor& f) { return f.level == Level::vector; });
  const std::string text = emit_cuda(k, s, target).text;
  CHECK_THAT(text, ContainsSubstring("const vec<f64, 1> r0 = load_vec"));
  CHECK_THAT(text, !ContainsSubstring("  vec<f64, 1> r0;"));
}

TEST_CASE("a kernel's parameters lie at C's offsets") {
  const KernelSource source = source_of(
      kernel_of("%x: f16[M, 5], %b: bool[M, 5])", "return where(%b, %x, 2)"), Target::cuda("sm_75"));
  int end = 0;
  for (const KernelParam& p : source.params) {
    const int size = p.kind == KernelParam::Kind::literal  ? size_of(p.literal.dtype)
                     : p.kind == KernelParam::Kind::length ? source.index_bytes
                                                           : 8;
    CHECK(p.offset % size == 0);
    CHECK(p.offset >= end);
    end = p.offset + size;
  }
  CHECK(source.param_bytes >= end);
  CHECK(source.param_bytes % 8 == 0);
}

TEST_CASE("on the CPU each part of a joined or padded axis has a loop that tests nothing") {
  struct Case {
    const char *inputs, *body;
    int loops;
  };
  for (const Case& c : {Case{"%x: f32[500], %y: f32[300])", "return concat(%x, %y, axis=0)", 2},
                        Case{"%x: f32[5, 500], %y: f32[5, 300])", "return neg(concat(%x, %y, axis=1))", 2},
                        Case{"%x: f32[5, 80], %y: f32[3, 80])", "return neg(concat(%x, %y, axis=0))", 2},
                        Case{"%x: f32[500])", "return add(pad(%x, before=[3], after=[1], value=2), 1)", 3},
                        Case{"%x: f32[7, 99])", "return pad(%x, before=[1, 1], after=[1, 1], value=2)", 5}}) {
    const std::string text = text_of(c.inputs, c.body);
    INFO(text);
    const std::string kernel = text.substr(text.find("extern \"C\""));
    int loops = 0;
    for (std::size_t at = 0; (at = kernel.find("#pragma omp simd", at)) != std::string::npos; ++at) ++loops;
    CHECK(loops == c.loops);
    CHECK(kernel.find("< (uint64)") == std::string::npos);
  }
  // Loops of a few elements would cost more than they save.
  CHECK_THAT(text_of("%x: f32[99, 6])", "return pad(%x, before=[0, 1], after=[0, 1], value=2)"),
             ContainsSubstring("< (uint64)"));
}

TEST_CASE("bool is read and written as bytes") {
  for (const Target& target : targets) {
    const std::string text = text_of("%a: bool[64], %b: bool[64])", "return logical_and(%a, %b)", target);
    CHECK_THAT(text, ContainsSubstring("const uint8* in0"));
    CHECK_THAT(text, ContainsSubstring("to_bool("));
    CHECK(text.find("boolean* ") == std::string::npos);
  }
}

TEST_CASE("a chain of a repeated block is few kernels, however long") {
  const auto distinct = [](int blocks) {
    ir::Graph g("chain");
    Value x = g.input("x", f32, {1024});
    for (int i = 0; i < blocks; ++i) {
      x = ir::elementwise(g, ir::Op::mul, std::vector<Operand>{x, ir::Literal{1.5 + i % 7}});
      x = ir::elementwise(g, ir::Op::tanh, std::vector<Operand>{x});
      x = ir::elementwise(g, ir::Op::add, std::vector<Operand>{x, ir::Literal{0.25}});
      x = ir::elementwise(g, ir::Op::exp, std::vector<Operand>{x});
    }
    g.output(x);
    std::set<std::string> texts;
    for (const Kernel& k : kernels_of(g)) texts.insert(source_of(k, Target::cpu()).text);
    return texts.size();
  };
  CHECK(distinct(250) <= 5);
  CHECK(distinct(2500) <= 5);
}

TEST_CASE("passes and source of 100,000 operations take seconds") {
  ir::Graph g("long");
  Value x = g.input("x", f32, {1024}), y = g.input("y", f32, {1024});
  const ir::Op ops[] = {ir::Op::add, ir::Op::mul, ir::Op::maximum, ir::Op::sub};
  for (int i = 0; i < 100000; ++i) {
    const Value next = ir::elementwise(g, ops[(i * 7 + i / 13) % 4], std::vector<Operand>{x, y});
    if (i % 3 == 0) y = x;
    x = next;
  }
  g.output(x);
  const std::clock_t begin = std::clock();
  const std::string source = program_source(std::move(g), Target::cpu());
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  INFO(source.size() << " bytes");
  CHECK(seconds < 10);
}
