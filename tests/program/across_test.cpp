// Kernels that fold rows and, at the same time, across them, where a device has such; elsewhere the same
// results come from several kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/program/check.h"
#include "tests/support/drawn.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// The gradients of a layer norm over the last of `rank` axes, with those of its weight and bias.
std::string layer_norm_backward(DType t, const std::vector<std::int64_t>& shape) {
  std::string dims, others;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    dims += fmt::format("{}{}", i ? ", " : "", shape[i]);
    if (i + 1 < shape.size()) others += fmt::format("{}{}", i ? ", " : "", i);
  }
  const std::string axis = std::to_string(shape.size() - 1);
  const double inverse = 1.0 / static_cast<double>(shape.back());
  return fmt::format(R"(graph @norm_backward(%dy: {0}[{1}], %x: {0}[{1}], %w: {0}[{2}]) {{
  %mean = mul(sum(%x, axes=[{3}], keepdims=true), {4})
  %d = sub(%x, %mean)
  %r = rsqrt(add(mul(sum(mul(%d, %d), axes=[{3}], keepdims=true), {4}), 0.00001))
  %n = mul(%d, %r)
  %g = mul(%dy, %w)
  %a = mul(sum(mul(%g, %n), axes=[{3}], keepdims=true), {4})
  %b = mul(sum(%g, axes=[{3}], keepdims=true), {4})
  %dx = mul(sub(sub(%g, mul(%n, %a)), %b), %r)
  %dw = sum(mul(%dy, %n), axes=[{5}])
  %db = sum(%dy, axes=[{5}])
  return %dx, %dw, %db, mul(add(%dw, %w), 2)
}}
)",
                     name(t), dims, shape.back(), axis, inverse, others);
}

}  // namespace

TEST_CASE("rows and across them: the gradients of a normalisation") {
  const std::vector<std::int64_t> shapes[] = {{1, 64},   {2, 8},      {3, 100},  {64, 64},
                                              {70, 31},  {5, 1000},   {9, 2048}, {2, 3, 40},
                                              {700, 16}, {140, 1001}, {5, 4099}, {3, 9001}};
  for (DType t : {DType::f32, DType::bf16, DType::f64})
    for (const std::vector<std::int64_t>& shape : shapes) {
      const std::string text = layer_norm_backward(t, shape);
      INFO(text);
      CHECK(off_bounds(ir::parse(text), {drawn(t, shape, 1), drawn(t, shape, 2), drawn(t, {shape.back()}, 3)},
                       Numerics::standard) == "");
    }
}

TEST_CASE("rows and across them: many rows, whose sums are added in levels") {
  const ir::Graph g = ir::parse(R"(graph @levels(%x: f32[40000, 8]) {
    %n = div(%x, sum(%x, axes=[1], keepdims=true))
    return sum(%x, axes=[1]), sum(%x, axes=[0]), max(%n, axes=[0]), min(%x, axes=[0])
  })");
  const ir::Array x = whole_numbers(DType::f32, {40000, 8}, 5);
  CHECK(off_bounds(g, {x}, Numerics::standard) == "");
}

TEST_CASE("rows and across them: results that elements of all rows need") {
  const ir::Graph g = ir::parse(R"(graph @both(%x: f32[24, 24]) {
    %rows = sum(%x, axes=[1], keepdims=true)
    %columns = sum(%x, axes=[0], keepdims=true)
    %y = sub(sub(%x, %rows), %columns)
    return %y, sum(%y, axes=[0]), sum(%y, axes=[1]), argmax(%x, axes=[0]), argmax(%x, axes=[1])
  })");
  CHECK(off_exact(g, {whole_numbers(DType::f32, {24, 24}, 7)}) == "");
}

TEST_CASE("rows and across them: of tensors that are joined") {
  for (const char* dtype : {"f32", "bf16", "int8"})
    for (const int axis : {0, 1}) {
      const std::string second = axis == 1 ? "300, 30" : "50, 20";
      const ir::Graph g = ir::parse(fmt::format(R"(graph @joined(%x: {0}[300, 20], %z: {0}[{1}]) {{
        %a = concat(%x, %z, axis={2})
        return sum(%a, axes=[1]), sum(%a, axes=[0])
      }})",
                                                dtype, second, axis));
      const DType t = g.dtype(g.inputs()[0]);
      const std::vector<std::int64_t> shape =
          axis == 1 ? std::vector<std::int64_t>{300, 30} : std::vector<std::int64_t>{50, 20};
      CHECK(off_exact(g, {whole_numbers(t, {300, 20}, 3), whole_numbers(t, shape, 3)}) == "");
    }
}

TEST_CASE("rows and across them: what is the same for all rows, and read elsewhere") {
  const ir::Graph g = ir::parse(R"(graph @repeated(%x: f32[50]) {
    %b = broadcast_to(%x, shape=[3, 50])
    %e = add(%x, %b)
    return max(%e, axes=[1]), sum(mul(%e, %b), axes=[1]), sum(%e, axes=[0]), sum(mul(%e, %e), axes=[0])
  })");
  CHECK(off_exact(g, {whole_numbers(DType::f32, {50}, 5)}) == "");
}

TEST_CASE("rows and across them: fewer rows than teams of the kernel before its folds are merged") {
  for (const auto& [t, shape] :
       std::vector<std::pair<DType, std::vector<std::int64_t>>>{{DType::f64, {6, 169}},
                                                                {DType::f32, {3, 9, 257}},
                                                                {DType::f32, {57, 290}},
                                                                {bf16, {3, 11, 706}}}) {
    const std::string text = layer_norm_backward(t, shape);
    INFO(text);
    CHECK(off_bounds(ir::parse(text), {drawn(t, shape, 1), drawn(t, shape, 2), drawn(t, {shape.back()}, 3)},
                     Numerics::standard) == "");
  }
}

TEST_CASE("rows and across them: rows over several axes, with a number for some of them") {
  const std::vector<std::int64_t> shape{3, 4, 5, 600};
  for (const std::vector<std::int64_t>& of_scale :
       std::vector<std::vector<std::int64_t>>{{4, 1, 1}, {3, 1, 1, 1}, {5, 1}, {3, 1, 5, 1}, {1, 4, 5, 1}})
    for (const DType t : {DType::f32, bf16}) {
      const std::string text =
          fmt::format(R"(graph @scaled(%dy: {0}[3, 4, 5, 600], %y: {0}[3, 4, 5, 600], %s: {0}[{1}]) {{
        %g = mul(cast(%dy, dtype=f32), cast(%y, dtype=f32))
        %d = mul(sub(%g, mul(%y, sum(%g, axes=[3], keepdims=true))), cast(%s, dtype=f32))
        return %d, sum(%d, axes=[0, 1, 2])
      }})",
                      name(t), fmt::join(of_scale, ", "));
      INFO(text);
      CHECK(off_bounds(ir::parse(text), {drawn(t, shape, 1), drawn(t, shape, 2), drawn(t, of_scale, 3)},
                       Numerics::standard) == "");
    }
}

TEST_CASE("rows and across them: every reduction of every dtype") {
  for (DType t : all_dtypes) {
    const std::string text = fmt::format(
        "graph @folds(%x: {}[37, 24]) {{\n  return max(%x, axes=[1]), sum(%x, axes=[0]), max(%x, axes=[0]), "
        "min(%x, axes=[0]), any(%x, axes=[0]), all(%x, axes=[0]), sum(%x, axes=[1])\n}}\n",
        name(t));
    INFO(text);
    CHECK(off_exact(ir::parse(text), {whole_numbers(t, {37, 24}, 3)}) == "");
  }
}
