// Axes along which tensors are joined or padded, and loops or kernels that take a part of them: every
// element is where it belongs, whatever lies on the borders. Results are exact.
#include <fmt/format.h>

#include <set>

#include "runtime/program_impl.h"
#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

void check(const std::string& inputs, const std::string& body, const std::vector<ir::Array>& arrays) {
  const std::string text = fmt::format("graph @g({}) {{\n  {}\n}}\n", inputs, body);
  INFO(text);
  CHECK(off_exact(ir::parse(text), arrays) == "");
}

/// A concat of so many tensors, of shapes that `shape` gives by number, and what is done with it.
struct Many {
  std::string inputs, concat;
  std::vector<ir::Array> arrays;
};

Many many(int count, int axis, const std::function<std::vector<std::int64_t>(int)>& shape) {
  Many m;
  for (int i = 0; i < count; ++i) {
    m.arrays.push_back(whole_numbers(f32, shape(i), i));
    std::string lengths;
    for (std::int64_t n : shape(i)) lengths += fmt::format("{}{}", lengths.empty() ? "" : ", ", n);
    m.inputs += fmt::format("{}%x{}: f32[{}]", i > 0 ? ", " : "", i, lengths);
    m.concat += fmt::format("{}%x{}", i > 0 ? ", " : "", i);
  }
  m.concat = fmt::format("concat({}, axis={})", m.concat, axis);
  return m;
}

std::shared_ptr<const runtime::Program> program_of(const Many& m) {
  const std::string text = fmt::format("graph @g({}) {{\n  return {}\n}}\n", m.inputs, m.concat);
  return runtime::Program::build(ir::parse(text), runtime::ProgramOptions{});
}

}  // namespace

TEST_CASE("joined and padded vectors are right on both sides of each border") {
  for (DType t : {uint8, f32, f64, DType::boolean}) {
    const std::string inputs = fmt::format("%x: {0}[100], %y: {0}[77], %z: {0}[1]", name(t));
    const std::vector<ir::Array> arrays{whole_numbers(t, {100}), whole_numbers(t, {77}, 3),
                                        whole_numbers(t, {1}, 2)};
    for (const char* formula :
         {"concat(%x, %y, axis=0)", "concat(%z, %x, %z, %y, axis=0)",
          "flip(concat(%y, %z, %x, axis=0), axes=[0])", "pad(%x, before=[3], after=[61], value=1)",
          "pad(%y, before=[0], after=[70], value=0)",
          "flip(pad(%x, before=[40], after=[1], value=1), axes=[0])",
          "slice(concat(%x, %y, axis=0), ranges=[3:170:2])",
          "pad(concat(%x, pad(%y, before=[30], after=[0], value=1), axis=0), before=[50], after=[20], "
          "value=0)",
          "concat(slice(%x, ranges=[1:90]), flip(%x, axes=[0]), broadcast_to(%z, shape=[40]), axis=0)"})
      check(inputs, fmt::format("return cast({}, dtype=f64)", formula), arrays);
  }
}

TEST_CASE("what is computed on the way is right in each part") {
  const std::string inputs = "%x: f32[50000], %y: f32[30001]";
  const std::vector<ir::Array> arrays{whole_numbers(f32, {50000}), whole_numbers(f32, {30001}, 3)};
  check(inputs, "return mul(concat(mul(%x, 2), add(%y, 1), axis=0), 3)", arrays);
  check(inputs, "%c = concat(%x, %y, axis=0)\n  return add(%c, flip(%c, axes=[0])), neg(%c)", arrays);
  check(inputs,
        "return add(pad(abs(%x), before=[7], after=[1], value=2), "
        "cast(slice(iota(shape=[60000], axis=0, dtype=int32), ranges=[0:50008]), dtype=f32))",
        arrays);
}

TEST_CASE("matrices joined and padded along every axis are right") {
  for (std::int64_t columns : {70, 300}) {
    const std::string inputs = fmt::format("%x: f32[6, 5, {0}], %y: f32[6, 5, {0}]", columns);
    const std::vector<ir::Array> arrays{whole_numbers(f32, {6, 5, columns}),
                                        whole_numbers(f32, {6, 5, columns}, 3)};
    for (int axis : {0, 1, 2}) {
      check(inputs, fmt::format("return neg(concat(%x, %y, %x, axis={}))", axis), arrays);
      check(inputs,
            fmt::format(
                "return neg(pad(concat(%y, %x, axis={}), before=[2, 0, 3], after=[0, 4, 1], value=5))", axis),
            arrays);
      check(inputs, fmt::format("return neg(permute_dims(concat(%x, %y, axis={}), axes=[2, 0, 1]))", axis),
            arrays);
    }
    check(inputs, "return add(pad(%x, before=[1, 1, 1], after=[1, 1, 1], value=0), 1)", arrays);
  }
}

TEST_CASE("many tensors are joined right, and what is done with them is") {
  for (int count : {8, 9, 17, 49}) {
    const Many lines = many(count, 0, [](int i) { return std::vector<std::int64_t>{i % 3 == 0 ? 700 : 5}; });
    const Many rows = many(count, 0, [](int i) { return std::vector<std::int64_t>{i % 4, 300}; });
    const Many columns = many(count, 1, [](int i) { return std::vector<std::int64_t>{20, i % 5 + 1}; });
    check(lines.inputs, "return " + lines.concat, lines.arrays);
    check(
        lines.inputs,
        fmt::format("%c = {}\n  return mul(%c, 3), neg(flip(%c, axes=[0])), sum(%c, axes=[0])", lines.concat),
        lines.arrays);
    for (const Many* m : {&rows, &columns}) {
      check(m->inputs, "return " + m->concat, m->arrays);
      check(m->inputs, fmt::format("return add({}, 1)", m->concat), m->arrays);
      check(m->inputs, fmt::format("return max({}, axes=[0])", m->concat), m->arrays);
      check(m->inputs, fmt::format("return neg(permute_dims({}, axes=[1, 0]))", m->concat), m->arrays);
      check(m->inputs, fmt::format("return pad({}, before=[1, 2], after=[0, 3], value=7)", m->concat),
            m->arrays);
    }
  }
}

TEST_CASE("a concat of many tensors is kernels that read few, of few texts") {
  struct Case {
    int length, kernels;  // of 300 tensors
  };
  for (const Case& c : {Case{5, 38}, Case{1024, 300}}) {
    const auto program = program_of(many(300, 0, [&](int) { return std::vector<std::int64_t>{c.length}; }));
    const runtime::Program::Impl& p = program->impl();
    CHECK(std::ssize(p.kernels) == c.kernels);
    std::set<std::string> texts;
    ir::Dim read, written;
    for (const codegen::Kernel& k : p.kernels) {
      CHECK(k.buffers.size() <= 9);
      read = read + k.bytes(false);
      written = written + k.bytes(true);
    }
    for (const codegen::KernelSource& s : p.sources) texts.insert(s.text);
    CHECK(texts.size() <= 4);
    CHECK(read.str() == std::to_string(4 * 300 * c.length));
    CHECK(written.str() == std::to_string(4 * 300 * c.length));
  }
}
