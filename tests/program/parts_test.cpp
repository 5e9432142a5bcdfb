// Axes along which tensors are joined or padded, and loops or kernels that take a part of them: every
// element is where it belongs, whatever lies on the borders. Results are exact.
#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::shared_ptr<const runtime::Program> program_of(const Many& m, codegen::Target target) {
  const std::string text = fmt::format("graph @g({}) {{\n  return {}\n}}\n", m.inputs, m.concat);
  runtime::ProgramOptions options;
  options.target = std::move(target);
  return runtime::Program::build(ir::parse(text), options);
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

TEST_CASE("rows joined and padded where vectors begin, or beside, are right") {
  for (DType t : {uint8, bf16, f32, f64})
    for (const std::vector<std::int64_t>& widths :
         {std::vector<std::int64_t>{16, 48, 64}, {8, 4, 12}, {4, 8, 1}, {2, 6, 8}}) {
      const std::string inputs =
          fmt::format("%x: {0}[37, {1}], %y: {0}[37, {2}], %z: {0}[37, {3}], %i: int64[9]", name(t),
                      widths[0], widths[1], widths[2]);
      std::vector<ir::Array> arrays;
      for (std::int64_t n : widths) arrays.push_back(whole_numbers(t, {37, n}, static_cast<int>(n)));
      arrays.emplace_back(DType::int64, std::vector<std::int64_t>{9});
      for (std::int64_t i = 0; i < 9; ++i)
        arrays.back().set(i, ir::Scalar::from_whole(DType::int64, i * 4 % 37));
      for (const char* formula :
           {"concat(%x, %y, %z, axis=1)", "concat(%y, %z, %y, %x, axis=1)",
            "pad(concat(%z, %x, axis=1), before=[1, 8], after=[0, 16], value=1)",
            "pad(%x, before=[0, 4], after=[2, 12], value=1)", "flip(concat(%x, %y, %z, axis=1), axes=[1])",
            "concat(flip(%x, axes=[1]), slice(%y, ranges=[0:37, 2:4]), %z, axis=1)",
            "concat(%x, pad(%y, before=[0, 16], after=[0, 8], value=1), axis=1)",
            "take(concat(%x, %y, axis=1), %i, axis=0)",
            "concat(take(%x, %i, axis=0), take(%z, %i, axis=0), axis=1)"})
        check(inputs, fmt::format("return cast({}, dtype=f64)", formula), arrays);
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

TEST_CASE("many tensors of any element type and length are joined right, however they are aligned") {
  const auto length = [](int i) {
    const std::int64_t lengths[] = {1, 0, 3, 16, 1000, 2, 4097, 0, 64, 33};
    return lengths[i % 10];
  };
  for (DType t : {DType::boolean, uint8, DType::int64, bf16, f32, f64}) {
    for (int misaligned : {0, 1}) {
      std::string inputs, joined;
      std::vector<runtime::TensorView> views;
      std::vector<ir::Array> arrays;
      runtime::ProgramOptions options = program_options();
      for (int i = 0; i < 25; ++i) {
        arrays.push_back(whole_numbers(t, {length(i)}, i));
        ir::Array led = whole_numbers(t, {length(i) + misaligned}, 0);
        for (std::int64_t j = 0; j < length(i); ++j) led.set(j + misaligned, arrays.back().at(j));
        runtime::TensorView view = view_of(led);
        view.data += misaligned * size_of(t);
        view.shape = {length(i)};
        views.push_back(view);
        options.layouts.push_back({{1}, misaligned ? size_of(t) : 64});
        inputs += fmt::format("{}%x{}: {}[{}]", i > 0 ? ", " : "", i, name(t), length(i));
        joined += fmt::format("{}%x{}", i > 0 ? ", " : "", i);
      }
      const std::string text =
          fmt::format("graph @g({}) {{\n  return concat({}, axis=0)\n}}\n", inputs, joined);
      INFO(text);
      const ir::Array got = array_of(run_program_on_views(ir::parse(text), views, options)[0]);
      std::int64_t at = 0, wrong = 0;
      for (const ir::Array& a : arrays)
        for (std::int64_t i = 0; i < a.elements(); ++i) wrong += !(got.at(at++) == a.at(i));
      CHECK(got.elements() == at);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("what is computed before many tensors are joined is computed in their kernels") {
  // Other element types and operations by turns; no part is rounded, so results are exact.
  std::string inputs, body, joined;
  std::vector<ir::Array> arrays;
  const DType types[] = {f32, bf16, int32};
  for (int i = 0; i < 40; ++i) {
    const DType t = types[i % 3];
    const std::int64_t n = i % 4 == 0 ? 1 : 40 * i;
    arrays.push_back(whole_numbers(t, {n}, i));
    inputs += fmt::format("%x{}: {}[{}], ", i, name(t), n);
    body += fmt::format("  %f{0} = cast(%x{0}, dtype=f32)\n  %y{0} = {1}\n", i,
                        i % 2 ? fmt::format("add(%f{}, {})", i, i) : fmt::format("mul(%f{0}, %f{0})", i));
    joined += fmt::format("%y{}, ", i);
  }
  arrays.push_back(whole_numbers(f32, {1}, 5));
  inputs += "%s: f32[1]";
  body += fmt::format("  %c = concat({}axis=0)\n  return neg(add(%c, %s)), mul(%c, 2)", joined);
  check(inputs, body, arrays);
  const std::string text = fmt::format("graph @g({}) {{\n{}\n}}\n", inputs, body);
  for (const codegen::Target& target : {codegen::Target::cpu(), codegen::Target::cuda("sm_90a")}) {
    runtime::ProgramOptions options;
    options.target = target;
    const auto program = runtime::Program::build(ir::parse(text), options);
    CHECK(program->impl().partition.groups.size() == 1);
  }
}

TEST_CASE("numbers side by side are stacked by kernels that read and write whole vectors") {
  for (DType t : {uint8, bf16, f32, f64})
    for (int count : {9, 16, 50})
      for (std::int64_t rows : {1, 64, 101}) {
        std::string inputs, body, joined;
        std::vector<ir::Array> arrays;
        for (int i = 0; i < count; ++i) {
          arrays.push_back(whole_numbers(t, {rows}, i));
          inputs += fmt::format("%x{}: {}[{}], ", i, name(t), rows);
          body += fmt::format("%s{0} = reshape(%x{0}, shape=[{1}, 1])\n  ", i, rows);
          joined += fmt::format("%s{}, ", i);
        }
        arrays.push_back(whole_numbers(t, {rows, count}, 7));
        arrays.push_back(whole_numbers(t, {rows, 1}, 9));
        inputs += fmt::format("%y: {0}[{1}, {2}], %r: {0}[{1}, 1]", name(t), rows, count);
        body += fmt::format("%c = concat({}axis=1)\n  ", joined);
        check(inputs, body + "return %c", arrays);
        check(inputs, body + "return maximum(%c, %r), flip(%c, axes=[1])", arrays);
        check(inputs, body + "return minimum(%c, %y)", arrays);
      }
  std::string inputs, joined;
  for (int i = 0; i < 32; ++i) {
    inputs += fmt::format("{}%x{}: f32[4096, 1]", i > 0 ? ", " : "", i);
    joined += fmt::format("%x{}, ", i);
  }
  runtime::ProgramOptions options;
  options.target = codegen::Target::cuda("sm_90a");
  const auto program = runtime::Program::build(
      ir::parse(fmt::format("graph @g({}) {{ return concat({}axis=1) }}", inputs, joined)), options);
  CHECK(program->impl().kernels.size() == 2);
  CHECK(program->launches() == 1);
  CHECK(program->impl().sources[0].schedule.in_turn);
  const std::string& text = program->impl().sources[0].text;
  CHECK(text.find("load_vec<4, 4>(in15") != std::string::npos);
  CHECK(text.find("store_vec<4>(out0") != std::string::npos);
  ir::Dim read, written;
  for (const codegen::Kernel& k : program->impl().kernels) {
    read = read + k.bytes(false);
    written = written + k.bytes(true);
  }
  CHECK(read.is(4 * 32 * 4096));
  CHECK(written.is(4 * 32 * 4096));
}

TEST_CASE("many tensors are stacked right along every axis") {
  for (int count : {2, 17, 100})
    for (int axis : {0, 1, 2}) {
      std::string inputs, body, joined;
      std::vector<ir::Array> arrays;
      for (int i = 0; i < count; ++i) {
        arrays.push_back(whole_numbers(bf16, {24, 40}, i));
        std::vector<int> shape{24, 40};
        shape.insert(shape.begin() + axis, 1);
        inputs += fmt::format("{}%x{}: bf16[24, 40]", i > 0 ? ", " : "", i);
        body += fmt::format("%s{0} = reshape(%x{0}, shape=[{1}])\n  ", i, fmt::join(shape, ", "));
        joined += fmt::format("%s{}, ", i);
      }
      check(inputs, fmt::format("{}return concat({}axis={})", body, joined, axis), arrays);
    }
}

TEST_CASE("a few large tensors are joined on a GPU by kernels that read whole vectors") {
  const auto kernels = [](int count, DType t, int rows, const std::string& body) {
    std::string inputs;
    for (int i = 0; i < count; ++i)
      inputs += fmt::format("{}%x{}: {}[{}, 800]", i > 0 ? ", " : "", i, name(t), rows);
    runtime::ProgramOptions options;
    options.target = codegen::Target::cuda("sm_90a");
    const std::string text = fmt::format("graph @g({}) {{\n  return {}\n}}\n", inputs, body);
    const auto program = runtime::Program::build(ir::parse(text), options);
    return program->impl().kernels.size();
  };
  CHECK(kernels(5, f32, 4096, "concat(%x0, %x1, %x2, %x3, %x4, axis=1)") == 5);
  CHECK(kernels(5, f32, 40960, "neg(concat(%x0, %x1, %x2, %x3, %x4, axis=1))") == 5);
  CHECK(kernels(3, bf16, 4096, "concat(%x0, neg(%x1), %x2, axis=0)") == 3);
  // Choosing among a few is fast; small tensors are not worth it; folds need whole rows; and what is read in
  // several parts would be read as often.
  CHECK(kernels(4, f32, 4096, "concat(%x0, %x1, %x2, %x3, axis=1)") == 1);
  CHECK(kernels(5, f32, 400, "concat(%x0, %x1, %x2, %x3, %x4, axis=1)") == 1);
  CHECK(kernels(5, f32, 4096, "sum(concat(%x0, %x1, %x2, %x3, %x4, axis=1), axes=[1])") == 1);
  CHECK(kernels(1, bf16, 4096, "concat(%x0, neg(%x0), %x0, axis=1)") == 1);
}

TEST_CASE("parts of the rows of an output are written in turn, those of a vector one after the other") {
  for (int axis : {0, 1}) {
    const auto program = program_of(many(40, axis,
                                         [](int) {
                                           return std::vector<std::int64_t>{16, 16};
                                         }),
                                    codegen::Target::cuda("sm_90a"));
    CHECK(program->launches() == 1);
    CHECK(program->impl().sources[0].schedule.in_turn == (axis == 1));
    CHECK(program->impl().sources[0].schedule.batch > 1);
  }
  const Many matrices = many(40, 1, [](int) { return std::vector<std::int64_t>{150, 16}; });
  check(matrices.inputs, "return " + matrices.concat, matrices.arrays);
}

TEST_CASE("a concat of many tensors is kernels that read few, of few texts, in few launches") {
  struct Case {
    int count, length, kernels, launches;  // on a GPU
  };
  for (const codegen::Target& target : {codegen::Target::cpu(), codegen::Target::cuda("sm_90a")}) {
    const bool cpu = target.backend == codegen::Backend::cpu;
    for (const Case& c : {Case{300, 5, 38, 3}, Case{300, 1024, 300, 3}, Case{1000, 260, 1000, 7}}) {
      if (cpu && c.length == 260) continue;
      const auto program =
          program_of(many(c.count, 0, [&](int) { return std::vector<std::int64_t>{c.length}; }), target);
      const runtime::Program::Impl& p = program->impl();
      CHECK(std::ssize(p.kernels) == c.kernels);
      if (!cpu) CHECK(program->launches() == c.launches);
      std::set<std::string> texts;
      ir::Dim read, written;
      for (const codegen::Kernel& k : p.kernels) {
        CHECK(std::ssize(k.buffers) <= 9);
        read = read + k.bytes(false);
        written = written + k.bytes(true);
      }
      for (const codegen::KernelSource& s : p.sources) texts.insert(s.text);
      CHECK(texts.size() <= 4);
      CHECK(read.str() == std::to_string(4 * c.count * c.length));
      CHECK(written.str() == std::to_string(4 * c.count * c.length));
    }
  }
}
