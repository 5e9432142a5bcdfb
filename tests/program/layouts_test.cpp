// Inputs that lie in memory in other ways than row by row, through ProgramOptions::layouts.
#include <fmt/format.h>

#include <cstring>

#include "tests/program/check.h"
#include "tests/support/guarded_memory.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

struct Layout {
  std::string name;
  std::int64_t offset;  // elements from the start of the block to element (0, ..., 0)
  std::vector<std::int64_t> strides;
};

/// Of x: f32[12, 40] in a block of 4096 elements.
const std::vector<Layout> layouts{
    {"rows", 0, {40, 1}},
    {"transposed", 0, {1, 12}},
    {"a slice with steps", 3, {160, 2}},
    {"reversed", 479, {-40, -1}},
    {"rows reversed", 440, {-40, 1}},
    {"expanded along rows", 7, {0, 1}},
    {"expanded along columns", 5, {3, 0}},
    {"one element", 9, {0, 0}},
    {"overlapping", 0, {1, 1}},
    {"misaligned", 1, {41, 1}},
    {"columns reversed", 39, {40, -1}},
    {"steps of columns", 0, {1, 25}},
};

/// The tensor that a view shows, as an array.
ir::Array seen(const ir::Array& block, const Layout& layout) {
  ir::Array x(block.dtype, {12, 40});
  for (std::int64_t i = 0; i < 12; ++i)
    for (std::int64_t j = 0; j < 40; ++j)
      x.set(i * 40 + j, block.at(layout.offset + i * layout.strides[0] + j * layout.strides[1]));
  return x;
}

runtime::TensorView view_in(const runtime::TensorView& block, const Layout& layout,
                            std::vector<std::int64_t> shape) {
  runtime::TensorView view = block;
  view.data += layout.offset * size_of(block.dtype);
  view.shape = std::move(shape);
  view.strides = layout.strides;
  return view;
}

int alignment_of(const runtime::TensorView& view) {
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  int alignment = 64;
  while (address % static_cast<std::uintptr_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

}  // namespace

TEST_CASE("inputs are read right in any layout, by every schedule") {
  const ir::Array block = whole_numbers(f32, {4096}), other = whole_numbers(f32, {12, 40}, 3);
  const runtime::TensorView memory = view_of(block), beside = view_of(other);
  const ir::Graph g = ir::parse(
      "graph @layouts(%x: f32[12, 40], %y: f32[12, 40]) {\n"
      "  %m = max(%x, axes=[1], keepdims=true)\n  %r = sum(sub(%x, %m), axes=[1])\n"
      "  return add(mul(%x, 2), %y), %r, sum(%x, axes=[0]), sum(%x), argmax(%x, axes=[0]), flip(%x, "
      "axes=[0])\n}\n");
  for (const Layout& layout : layouts) {
    INFO(layout.name);
    const runtime::TensorView x = view_in(memory, layout, {12, 40});
    runtime::ProgramOptions options;
    options.layouts = {{layout.strides, alignment_of(x)}, {{40, 1}, 64}};
    const std::vector<runtime::TensorView> got =
        run_program_on_views(ir::without_dead_nodes(g), std::vector{x, beside}, options);
    const std::vector<ir::Exact> expected =
        ir::evaluate_reference(g, std::vector{seen(block, layout), other});
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO("output " << i);
      CHECK(mismatch(array_of(got[i]), expected[i]) == "");
    }
  }
}

TEST_CASE("a small view may begin and step beyond 2^31 elements") {
  if (!program_runner().device->is_cpu())
    SINTER_SKIP("no device but the CPU reads memory that is only reserved");
  // A reservation of address space; only the pages that are touched take memory.
  const std::int64_t step = (std::int64_t{1} << 31) + 5;
  const auto pages = std::make_shared<ReservedMemory>(2 * step + 64);
  for (std::int64_t i = 0; i < 3; ++i) pages->data()[i * step] = static_cast<std::byte>(i + 1);
  runtime::TensorView x;
  x.buffer = runtime::Buffer::foreign(pages->data(), 2 * step + 64, {});
  x.data = x.buffer->data();
  x.dtype = int8;
  x.shape = {3};
  x.strides = {step};
  const ir::Graph g =
      ir::parse("graph @far(%x: int8[3]) {\n  return add(%x, 1), sum(%x), flip(%x, axes=[0])\n}\n");
  for (bool backwards : {false, true}) {
    if (backwards) {
      x.data += 2 * step;
      x.strides = {-step};
    }
    runtime::ProgramOptions options;
    options.layouts = {{x.strides, 1}};
    const auto got = run_program_on_views(ir::without_dead_nodes(g), std::vector{x}, options);
    CHECK(numbers_of(array_of(got[0])) ==
          (backwards ? std::vector<double>{4, 3, 2} : std::vector<double>{2, 3, 4}));
    CHECK(numbers_of(array_of(got[1])) == std::vector<double>{6});
    CHECK(numbers_of(array_of(got[2])) ==
          (backwards ? std::vector<double>{1, 2, 3} : std::vector<double>{3, 2, 1}));
  }
}

TEST_CASE("a formula may go on in another shape of the rows that it has folded") {
  struct Shapes {
    const char* whole;   // of x
    const char* rows;    // that are normalised
    const char* axes;    // of these
    const char* weight;  // in the whole shape
    std::vector<std::int64_t> x, w;
  };
  const Shapes kinds[] = {
      {"3, 8, 5, 7", "3, 2, 4, 5, 7", "2, 3, 4", "8, 1, 1", {3, 8, 5, 7}, {8, 1, 1}},
      {"2, 12, 40, 41", "2, 3, 4, 40, 41", "2, 3, 4", "12, 1, 1", {2, 12, 40, 41}, {12, 1, 1}},
      {"2, 64, 56, 56", "2, 4, 16, 56, 56", "2, 3, 4", "64, 1, 1", {2, 64, 56, 56}, {64, 1, 1}},
      {"4, 9, 33", "36, 33", "1", "33", {4, 9, 33}, {33}},
      {"36, 33", "4, 9, 33", "2", "33", {36, 33}, {33}},
      {"5, 600", "5, 20, 30", "2", "1, 600", {5, 600}, {1, 600}},
  };
  for (const Shapes& shapes : kinds)
    for (const DType t : {f32, bf16}) {
      const std::string text = fmt::format(R"(graph @grouped(%x: {0}[{1}], %w: {0}[{4}], %b: {0}[{4}]) {{
        %v = cast(reshape(%x, shape=[{2}]), dtype=f32)
        %m = max(abs(%v), axes=[{3}], keepdims=true)
        %y = reshape(cast(div(%v, add(%m, 1)), dtype={0}), shape=[{1}])
        return add(mul(%y, %w), %b), mul(neg(%y), %x)
      }})",
                                           name(t), shapes.whole, shapes.rows, shapes.axes, shapes.weight);
      INFO(text);
      CHECK(off_bounds(
                ir::parse(text),
                {whole_numbers(t, shapes.x), whole_numbers(t, shapes.w, 5), whole_numbers(t, shapes.w, 9)},
                Numerics::standard) == "");
    }
}
