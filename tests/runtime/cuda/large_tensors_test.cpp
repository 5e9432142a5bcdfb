// Tensors of several times what a GPU's cache holds, whose loads are asked to outlast stores: every kind of
// kernel gives for the rows of a large tensor what the reference gives for those of a small one.
#include <fmt/format.h>

#include "ir/rewrite.h"
#include "tests/program/check.h"
#include "tests/support/drawn.h"
#include "tests/support/gpu.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

constexpr std::int64_t few = 61;  // rows that the large tensor repeats

ir::Graph of_rows(std::int64_t rows, const std::string& dtype, const std::string& row, std::int64_t length,
                  const std::string& body) {
  return ir::without_dead_nodes(
      ir::parse(fmt::format("graph @large(%x: {0}[{1}, {2}], %w: {0}[{3}], %b: {0}[{3}]) {{\n  {4}\n}}\n",
                            dtype, rows, row, length, body)));
}

ir::Array repeated(const ir::Array& rows, std::int64_t times) {
  ir::Array all(rows.dtype, rows.shape);
  all.shape[0] *= times;
  all.data.clear();
  for (std::int64_t i = 0; i < times; ++i)
    all.data.insert(all.data.end(), rows.data.begin(), rows.data.end());
  return all;
}

/// Rows of `row` elements each, which may have several axes, and vectors of `length`, as the body reads them.
void check(const std::string& dtype, std::int64_t repetitions, const std::vector<std::int64_t>& row,
           std::int64_t length, const std::string& body, const std::string& chooser) {
  INFO(body);
  std::string text;
  std::vector<std::int64_t> shape{few};
  for (std::int64_t n : row) {
    text += (text.empty() ? "" : ", ") + std::to_string(n);
    shape.push_back(n);
  }
  const DType t = dtype == "bf16" ? DType::bf16 : DType::f32;
  const ir::Graph small = of_rows(few, dtype, text, length, body);
  std::vector<ir::Array> arrays;
  for (ir::Value v : small.inputs()) arrays.push_back(drawn(t, small.shape(v).values(), arrays.size() + 1));
  const std::vector<Bounded> expected = evaluate_bounded(small, arrays);
  arrays[0] = repeated(arrays[0], repetitions);
  std::vector<runtime::TensorView> views;
  for (const ir::Array& a : arrays) views.push_back(view_of(a));
  const auto program =
      runtime::Program::build(of_rows(few * repetitions, dtype, text, length, body), program_options());
  const std::string explained = program->explain();
  INFO(explained);
  CHECK(explained.find("schedule " + chooser) != std::string::npos);
  CHECK(explained.find("loads outlast stores") != std::string::npos);
  const std::vector<runtime::TensorView> got = program->run(views);
  for (const std::int64_t at : {std::int64_t{0}, repetitions / 2, repetitions - 1}) {
    INFO("repetition " << at);
    std::vector<ir::Array> rows;
    for (runtime::TensorView y : got) {
      y.data += at * few * y.strides[0] * size_of(y.dtype);
      y.shape[0] = few;
      rows.push_back(array_of(y));
    }
    CHECK(mismatch(rows, expected) == "");
  }
}

const char* const softmax =
    "%e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n  return div(%e, sum(%e, axes=[1], keepdims=true))";
const char* const layer_norm =
    "%f = cast(%x, dtype=f32)\n  %d = sub(%f, mul(sum(%f, axes=[1], keepdims=true), 0.000244140625))\n"
    "  %v = mul(sum(mul(%d, %d), axes=[1], keepdims=true), 0.000244140625)\n"
    "  return cast(add(mul(div(%d, sqrt(add(%v, 1e-5))), %w), %b), dtype=bf16)";

}  // namespace

TEST_CASE("large tensors are loaded right where their loads outlast stores") {
  const RunsOn here(need_gpu());
  check("bf16", 270, {4096}, 4096, "return add(mul(%x, %w), %b)", "pointwise");
  check("f32", 270, {2048}, 1, "return neg(%x), exp(%x)", "pointwise");
  check("f32", 100, {64, 96}, 1, "return neg(permute_dims(%x, axes=[0, 2, 1]))", "tiles");
  check("f32", 140, {4096}, 1, softmax, "team rows");
  check("f32", 140, {4099}, 1, softmax, "team rows");
  check("f32", 35, {16384}, 1, softmax, "shared rows");
  check("f32", 60, {10001}, 1, softmax, "shared rows");
  check("bf16", 270, {4096}, 4096, layer_norm, "shared rows");
}
