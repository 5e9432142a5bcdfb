// Matrix products by the device's library, and what is done for operands and dtypes that it does not take.
#include <fmt/format.h>

#include "tests/program/check.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

struct Layout {
  std::string name;
  std::int64_t offset;
  std::vector<std::int64_t> strides;
};

/// Of x: f32[12, 40] in a block of 4096 elements.
const std::vector<Layout> layouts{
    {"rows", 0, {40, 1}},
    {"rows with gaps", 5, {47, 1}},
    {"columns", 0, {1, 12}},
    {"columns with gaps", 3, {1, 17}},
    {"every other element", 3, {160, 2}},
    {"reversed", 479, {-40, -1}},
    {"rows reversed", 440, {-40, 1}},
    {"columns reversed", 39, {40, -1}},
    {"one row, repeated", 7, {0, 1}},
    {"one column, repeated", 5, {3, 0}},
    {"one element", 9, {0, 0}},
    {"overlapping", 0, {1, 1}},
};

constexpr DType wholes[] = {int8, uint8, int32, int64};
constexpr DType floats[] = {f16, bf16, f32, f64};

std::string check_exact(const std::string& text, const std::vector<ir::Array>& inputs) {
  return off_exact(ir::parse(text), inputs);
}

}  // namespace

TEST_CASE("products take operands in any layout") {
  const ir::Array block = whole_numbers(f32, {4096}), right = whole_numbers(f32, {40, 6}, 2),
                  left = whole_numbers(f32, {6, 12}, 5);
  const runtime::TensorView memory = view_of(block), beside = view_of(right), before = view_of(left);
  const ir::Graph g = ir::parse(
      "graph @products(%x: f32[12, 40], %r: f32[40, 6], %l: f32[6, 12]) {\n"
      "  return matmul(%x, %r), matmul(%l, %x), matmul(permute_dims(%r, axes=[1, 0]), permute_dims(%x, "
      "axes=[1, 0]))\n}\n");
  for (const Layout& layout : layouts) {
    INFO(layout.name);
    runtime::TensorView x = memory;
    x.data += layout.offset * size_of(f32);
    x.shape = {12, 40};
    x.strides = layout.strides;
    ir::Array seen(f32, {12, 40});
    for (std::int64_t i = 0; i < 12; ++i)
      for (std::int64_t j = 0; j < 40; ++j)
        seen.set(i * 40 + j, block.at(layout.offset + i * layout.strides[0] + j * layout.strides[1]));
    runtime::ProgramOptions options;
    options.layouts = {{layout.strides, 4}, {{6, 1}, 64}, {{12, 1}, 64}};
    const std::vector<runtime::TensorView> got =
        run_program_on_views(ir::without_dead_nodes(g), std::vector{x, beside, before}, options);
    const std::vector<ir::Exact> expected = ir::evaluate_reference(g, std::vector{seen, right, left});
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO("output " << i);
      CHECK(mismatch(array_of(got[i]), expected[i]) == "");
    }
  }
}

TEST_CASE("products take operands that the program has moved") {
  const std::vector<ir::Array> inputs{whole_numbers(f32, {8, 32}), whole_numbers(f32, {16, 24}, 1),
                                      whole_numbers(f32, {1, 16}, 2)};
  const std::string head = "graph @g(%x: f32[8, 32], %w: f32[16, 24], %r: f32[1, 16]) {\n  return ";
  for (const char* body :
       {"matmul(slice(%x, starts=[0, 3], steps=[1, 1], lengths=[8, 16]), %w)",
        "matmul(slice(%x, starts=[0, 0], steps=[1, 2], lengths=[8, 16]), %w)",
        "matmul(flip(slice(%x, starts=[0, 3], steps=[1, 1], lengths=[8, 16]), axes=[1]), flip(%w, axes=[0]))",
        "matmul(broadcast_to(%r, shape=[8, 16]), %w)", "matmul(%r, flip(%w, axes=[0, 1]))",
        "matmul(reshape(slice(%x, starts=[0, 0], steps=[1, 2], lengths=[8, 16]), shape=[8, 16]), %w), "
        "sum(%x)"}) {
    INFO(body);
    CHECK(check_exact(head + body + "\n}\n", inputs) == "");
  }
}

TEST_CASE("products have batches of any axes, repeated ones too") {
  const std::vector<ir::Array> inputs{whole_numbers(f32, {2, 3, 4, 5}), whole_numbers(f32, {5, 6}, 1),
                                      whole_numbers(f32, {3, 5, 6}, 2), whole_numbers(f32, {2, 1, 5, 6}, 3)};
  CHECK(check_exact("graph @g(%x: f32[2, 3, 4, 5], %w: f32[5, 6], %v: f32[3, 5, 6], %u: f32[2, 1, 5, 6]) {\n"
                    "  return matmul(%x, %w), matmul(%x, %v), matmul(%x, %u),"
                    " matmul(permute_dims(%x, axes=[1, 0, 2, 3]), %w), matmul(flip(%x, axes=[0]), %v)\n}\n",
                    inputs) == "");
}

TEST_CASE("products of whole numbers wrap in their dtype") {
  for (DType t : wholes) {
    INFO(name(t));
    ir::Array x(t, {5, 70}), w(t, {70, 33});
    for (ir::Array* array : {&x, &w})
      for (std::int64_t i = 0; i < array->elements(); ++i)
        array->set(i, ir::Scalar::from_whole(t, (i + 1) * 0x9e3779b97f4a7c1));
    CHECK(
        check_exact(fmt::format("graph @g(%x: {0}[5, 70], %w: {0}[70, 33]) {{\n  return matmul(%x, %w)\n}}\n",
                                name(t)),
                    {x, w}) == "");
  }
}

TEST_CASE("a product with a bias and what follows is right in every mode") {
  for (DType t : floats)
    for (auto [m, k, n] : {std::tuple(7, 40, 24), {64, 64, 64}, {5, 3, 9}, {1, 16, 8}})
      for (Numerics numerics : all_modes) {
        INFO(name(t) << " " << m << " " << k << " " << n << " " << name(numerics));
        const std::vector<ir::Array> inputs{whole_numbers(t, {m, k}), whole_numbers(t, {k, n}, 1),
                                            whole_numbers(t, {n}, 2)};
        const std::string head = fmt::format(
            "graph @g(%x: {0}[{1}, {2}], %w: {0}[{2}, {3}], %b: {0}[{3}]) {{\n  return ", name(t), m, k, n);
        for (const char* body : {"add(matmul(%x, %w), %b)", "tanh(mul(add(%b, matmul(%x, %w)), 0.001))",
                                 "add(matmul(%x, %w), %b), sum(%b)"})
          CHECK(off_bounds(ir::parse(head + body + "\n}\n"), inputs, numerics) == "");
      }
}

TEST_CASE("a bias for every row may be a part of an input, and used elsewhere") {
  const std::vector<ir::Array> inputs{whole_numbers(f32, {6, 16}), whole_numbers(f32, {16, 8}, 1),
                                      whole_numbers(f32, {4, 20}, 2)};
  CHECK(
      check_exact(
          "graph @g(%x: f32[6, 16], %w: f32[16, 8], %b: f32[4, 20]) {\n"
          "  %row = slice(%b, starts=[2, 5], steps=[1, 1], lengths=[1, 8])\n"
          "  %odd = slice(%b, starts=[1, 1], steps=[1, 2], lengths=[1, 8])\n"
          "  return add(matmul(%x, %w), %row), add(matmul(%x, flip(%w, axes=[1])), %odd), mul(%row, 2)\n}\n",
          inputs) == "");
}

TEST_CASE("products over no elements are zero, and those of no elements are nothing") {
  for (DType t : {f32, bf16, int32}) {
    INFO(name(t));
    const std::string graph = fmt::format(
        "graph @g(%x: {0}[3, 0], %w: {0}[0, 4], %b: {0}[4], %y: {0}[0, 5], %v: {0}[5, 4]) {{\n"
        "  return matmul(%x, %w), add(matmul(%x, %w), %b), matmul(%y, %v)\n}}\n",
        name(t));
    CHECK(check_exact(graph, {ir::Array(t, {3, 0}), ir::Array(t, {0, 4}), whole_numbers(t, {4}),
                              ir::Array(t, {0, 5}), whole_numbers(t, {5, 4})}) == "");
  }
}
