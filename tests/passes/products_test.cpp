// Graphs fitted to a library of matrix products that takes floats and dense matrices only, and adds a bias.
#include <algorithm>

#include "ir/evaluate_typed.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "passes/copy_operands.h"
#include "passes/join_bias.h"
#include "passes/lower_products.h"
#include "passes/partition.h"
#include "passes/pipeline.h"
#include "tests/catch.h"
#include "tests/support/random.h"

namespace sinter::passes {
namespace {

constexpr ProductLibrary cublaslt_like{false, false, true};

PassContext context(Numerics numerics = Numerics::standard, InputStrides inputs = {}) {
  return {numerics, cublaslt_like, std::move(inputs)};
}

struct Fitted {
  ir::Graph graph;
  Partition partition;
  std::vector<std::optional<ir::View>> views;

  /// The groups of library calls.
  std::vector<Group> products() const {
    std::vector<Group> found;
    for (const Group& group : partition.groups)
      if (group.kind == GroupKind::gemm) found.push_back(group);
    return found;
  }
  /// How many groups store a movement: copies.
  int copies() const {
    int count = 0;
    for (const Group& group : partition.groups)
      for (ir::Value v : group.outputs) count += ir::is_movement(graph.op(v));
    return count;
  }
  bool operands_are_dense() const {
    for (const Group& group : products())
      for (ir::Value v : graph.operands(group.nodes[0])) {
        const auto written = [&](const Group& g) {
          return std::ranges::find(g.outputs, v) != g.outputs.end();
        };
        const bool copied = std::ranges::any_of(partition.groups, written);
        if (!copied && !is_dense_matrix(graph.shape(v), views[v.id]->strides)) return false;
      }
    return true;
  }
};

Fitted fit(const char* text, const PassContext& how = context()) {
  Fitted result{optimize(ir::parse(text), how), {}, {}};
  result.partition = fuse(result.graph, how.inputs, how.library);
  result.views = memory_views(result.graph, how.inputs, how.library);
  return result;
}

TEST_CASE("a bias added to a product of f32 is part of the library's call") {
  const Fitted f = fit(R"(graph @g(%x: f32[8, 16], %w: f32[16, 32], %b: f32[32]) {
    %0 = matmul(%x, %w)
    %1 = broadcast_to(%b, shape=[8, 32])
    %2 = add(%1, %0)
    %3 = tanh(%2)
    return %3
  })");
  REQUIRE(f.partition.groups.size() == 2);
  const std::vector<Group> products = f.products();
  REQUIRE(products.size() == 1);
  REQUIRE(products[0].nodes.size() == 2);
  CHECK(f.graph.op(products[0].nodes[0]) == ir::Op::matmul);
  CHECK(products[0].outputs == std::vector{products[0].nodes[1]});
  CHECK(products[0].inputs == f.graph.inputs());
  CHECK(f.partition.groups[1].inputs == products[0].outputs);
  REQUIRE(f.partition.boundaries.size() == 1);
  CHECK(f.partition.boundaries[0].reason == "matrix products run in the library");
}

TEST_CASE("a bias of 16 bits is added to what the library has accumulated") {
  for (const char* rows : {"%b: bf16[1, 32]", "%b: bf16[32]"}) {
    const std::string text = std::string("graph @g(%x: bf16[8, 16], %w: bf16[16, 32], ") + rows + R"() {
      %0 = matmul(%x, %w)
      %1 = broadcast_to(%b, shape=[8, 32])
      %2 = add(%0, %1)
      %3 = tanh(%2)
      return %3
    })";
    const Fitted f = fit(text.c_str());
    REQUIRE(f.products().size() == 1);
    CHECK(f.products()[0].nodes.size() == 2);
    CHECK(f.graph.dtype(f.products()[0].outputs[0]) == DType::bf16);
  }
  // The sum itself is stored: nothing but the call is left.
  const Fitted sum = fit(R"(graph @g(%x: f16[8, 16], %w: f16[16, 32], %b: f16[32]) {
    %0 = matmul(%x, %w)
    %1 = broadcast_to(%b, shape=[8, 32])
    %2 = add(%0, %1)
    return %2
  })");
  REQUIRE(sum.partition.groups.size() == 1);
  CHECK(sum.partition.groups[0].nodes.size() == 2);
}

TEST_CASE("a batch of products takes a bias, too") {
  const Fitted f = fit(R"(graph @g(%x: f32[4, 8, 16], %w: f32[4, 16, 32], %b: f32[32]) {
    %0 = matmul(%x, %w)
    %1 = broadcast_to(%b, shape=[4, 8, 32])
    %2 = add(%0, %1)
    return %2
  })");
  CHECK(f.partition.groups.size() == 1);
}

TEST_CASE("what is no bias along the rows stays an addition") {
  const std::string broadcast = "  %1 = broadcast_to(%b, shape=[8, 32])\n";
  const std::string added = broadcast + "  %2 = add(%0, %1)\n  return %2\n";
  const std::pair<std::string, std::string> others[] = {
      {"a column", "%b: f32[8, 1]) {\n  %0 = matmul(%x, %w)\n" + added},
      {"a scalar", "%b: f32[]) {\n  %0 = matmul(%x, %w)\n  %2 = add(%0, %b)\n  return %2\n"},
      {"a row of one", "%b: f32[1]) {\n  %0 = matmul(%x, %w)\n  %2 = add(%b, %0)\n  return %2\n"},
      {"one number", "%b: f32[1]) {\n  %0 = matmul(%x, %w)\n" + added},
      {"a matrix", "%b: f32[8, 32]) {\n  %0 = matmul(%x, %w)\n  %2 = add(%0, %b)\n  return %2\n"},
      {"every other element",
       "%b: f32[64]) {\n  %0 = matmul(%x, %w)\n  %1 = slice(%b, starts=[0], steps=[2], lengths=[32])\n"
       "  %2 = broadcast_to(%1, shape=[8, 32])\n  %3 = add(%0, %2)\n  return %3\n"},
      {"something computed",
       "%b: f32[32]) {\n  %0 = matmul(%x, %w)\n  %1 = exp(%b)\n  %2 = broadcast_to(%1, shape=[8, 32])\n"
       "  %3 = add(%0, %2)\n  return %3\n"},
      {"a product that is needed, too",
       "%b: f32[32]) {\n  %0 = matmul(%x, %w)\n" + broadcast + "  %2 = add(%0, %1)\n  return %2, %0\n"},
  };
  for (const auto& [what, rest] : others) {
    INFO(what);
    const Fitted f = fit(("graph @g(%x: f32[8, 16], %w: f32[16, 32], " + rest + "}").c_str());
    REQUIRE(f.products().size() == 1);
    CHECK(f.products()[0].nodes.size() == 1);
  }
}

TEST_CASE("a bias of 16 bits joins rows of whole 16 bytes only, where the library rounds once") {
  const auto nodes = [](const std::string& k, const std::string& n) {
    const std::string facts = k == "M" || n == "M" ? " where M % 8 == 0" : "";
    const std::string text = "graph @g(%x: bf16[8, " + k + "], %w: bf16[" + k + ", " + n + "], %b: bf16[" +
                             n + "])" + facts +
                             " {\n  %0 = matmul(%x, %w)\n  %1 = broadcast_to(%b, shape=[8, " + n +
                             "])\n  %2 = add(%0, %1)\n  return %2\n}";
    return fit(text.c_str()).products().at(0).nodes.size();
  };
  CHECK(nodes("16", "32") == 2);
  CHECK(nodes("M", "32") == 2);
  CHECK(nodes("16", "M") == 2);
  CHECK(nodes("16", "33") == 1);
  CHECK(nodes("17", "32") == 1);
  CHECK(nodes("N", "32") == 1);
}

TEST_CASE("strict mode and libraries without it leave a bias to a kernel") {
  const char* text = R"(graph @g(%x: f32[8, 16], %w: f32[16, 32], %b: f32[32]) {
    %0 = matmul(%x, %w)
    %1 = broadcast_to(%b, shape=[8, 32])
    %2 = add(%0, %1)
    return %2
  })";
  CHECK(fit(text, {Numerics::strict, {false, false, false}, {}}).partition.groups.size() == 2);
  CHECK(fit(text, {}).partition.groups.size() == 2);
}

TEST_CASE("operands that the library reads in place are not copied") {
  const Fitted transposed = fit(R"(graph @g(%x: f32[16, 8], %w: f32[32, 16]) {
    %0 = permute_dims(%x, axes=[1, 0])
    %1 = permute_dims(%w, axes=[1, 0])
    %2 = matmul(%0, %1)
    return %2
  })");
  CHECK(transposed.copies() == 0);
  const Fitted part = fit(R"(graph @g(%x: f32[8, 32], %w: f32[16, 64]) {
    %0 = slice(%x, starts=[0, 3], steps=[1, 1], lengths=[8, 16])
    %1 = slice(%w, starts=[0, 5], steps=[1, 1], lengths=[16, 32])
    %2 = matmul(%0, %1)
    return %2
  })");
  CHECK(part.copies() == 0);
  const Fitted repeated = fit(R"(graph @g(%x: f32[4, 8, 16], %w: f32[16, 32]) {
    %0 = broadcast_to(%w, shape=[4, 16, 32])
    %1 = matmul(%x, %0)
    return %1
  })");
  CHECK(repeated.copies() == 0);
}

TEST_CASE("operands that the library cannot read in place are copied by a kernel") {
  const Fitted f = fit(R"(graph @g(%x: f32[8, 32], %w: f32[16, 32], %r: f32[1, 16]) {
    %0 = slice(%x, starts=[0, 0], steps=[1, 2], lengths=[8, 16])
    %1 = flip(%w, axes=[1])
    %2 = matmul(%0, %1)
    %3 = broadcast_to(%r, shape=[8, 16])
    %4 = matmul(%3, %w)
    %5 = add(%2, %4)
    return %5
  })");
  CHECK(f.copies() == 3);
  CHECK(f.operands_are_dense());
  // Where the library takes any strides, nothing is copied.
  CHECK(fuse(f.graph).groups.size() == f.partition.groups.size() - 3);
}

TEST_CASE("an input whose layout the library cannot read is copied, and others read it where it is") {
  const char* text = R"(graph @g(%x: f32[8, 16], %w: f32[16, 32]) {
    %0 = matmul(%x, %w)
    %1 = sum(%x, axes=[1])
    return %0, %1
  })";
  const Fitted dense = fit(text, context(Numerics::standard, {{1, 8}, {40, 1}}));
  CHECK(dense.copies() == 0);
  const Fitted strided = fit(text, context(Numerics::standard, {{32, 2}, {-32, 1}}));
  CHECK(strided.copies() == 2);
  CHECK(strided.operands_are_dense());
}

TEST_CASE("which matrices are dense") {
  const auto dense = [](ir::Shape shape, std::vector<ir::Dim> strides) {
    return is_dense_matrix(shape, strides);
  };
  CHECK(dense({4, 5}, {5, 1}));
  CHECK(dense({4, 5}, {9, 1}));
  CHECK(dense({4, 5}, {1, 4}));
  CHECK(dense({1, 5}, {-3, 1}));
  CHECK(dense({1, 5}, {0, 2}));
  CHECK(dense({4, 1}, {2, 0}));
  CHECK(dense({0, 5}, {0, 0}));
  CHECK(dense({3, 4, 5}, {0, 5, 1}));
  CHECK(dense({ir::Dim::symbol("M"), ir::Dim::symbol("K")}, {ir::Dim::symbol("K"), 1}));
  CHECK(dense({ir::Dim::symbol("K"), ir::Dim::symbol("M")}, {1, ir::Dim::symbol("K")}));
  CHECK_FALSE(dense({4, 5}, {0, 1}));
  CHECK_FALSE(dense({4, 5}, {4, 1}));
  CHECK_FALSE(dense({4, 5}, {10, 2}));
  CHECK_FALSE(dense({4, 5}, {-5, 1}));
  CHECK_FALSE(dense({4, 5}, {5, -1}));
  CHECK_FALSE(dense({3, 4, 5}, {-20, 5, 1}));
}

TEST_CASE("products of whole numbers become sums that wrap as they do") {
  for (DType t : {DType::int8, DType::uint8, DType::int32, DType::int64}) {
    ir::Graph g("g");
    const ir::Value x = g.input("x", t, {3, 5, 7}), w = g.input("w", t, {3, 7, 4});
    const ir::Value operands[] = {x, w};
    g.output(g.add(ir::Op::matmul, operands));
    const ir::Graph lowered = lower_products(g, context());
    for (std::uint32_t id = 0; id < lowered.size(); ++id) CHECK(lowered.op(ir::Value{id}) != ir::Op::matmul);
    ir::Array a(t, {3, 5, 7}), b(t, {3, 7, 4});
    testing::Random random(3);
    for (ir::Array* array : {&a, &b})
      for (std::int64_t i = 0; i < array->elements(); ++i)
        array->set(i, ir::Scalar::from_whole(t, static_cast<std::int64_t>(random.bits())));
    const ir::Array inputs[] = {a, b};
    CHECK(ir::evaluate_typed(lowered, inputs)[0].data == ir::evaluate_typed(g, inputs)[0].data);
    const Partition p = fuse(optimize(g, context()), {}, cublaslt_like);
    REQUIRE(p.groups.size() == 1);
    CHECK(p.groups[0].kind == GroupKind::kernel);
  }
}

}  // namespace
}  // namespace sinter::passes
