#include "passes/partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/parse.h"
#include "tests/catch.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using passes::fuse;
using passes::GroupKind;
using passes::Partition;

namespace {

Partition fuse_text(const char* text) {
  return fuse(ir::parse(text));
}

std::size_t kernels(const Partition& p) {
  return static_cast<std::size_t>(std::ranges::count(p.groups, GroupKind::kernel, &passes::Group::kind));
}

bool has_reason(const Partition& p, const std::string& part) {
  return std::ranges::any_of(
      p.boundaries, [&](const passes::Boundary& b) { return b.reason.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a chain of elementwise operations is one group") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[8, 16]) {
    %0 = mul(%x, %x)
    %1 = tanh(%0)
    %2 = add(%1, %x)
    return %2
  })");
  REQUIRE(p.groups.size() == 1);
  CHECK(p.groups[0].nodes.size() == 3);
  CHECK(p.groups[0].outputs.size() == 1);
  CHECK(p.groups[0].reduced.empty());
}

TEST_CASE("softmax is one group over its rows") {
  const Partition p = fuse_text(R"(graph @softmax(%x: f32[M, 64]) {
    %0 = max(%x, axes=[1], keepdims=true)
    %1 = sub(%x, %0)
    %2 = exp(%1)
    %3 = sum(%2, axes=[1], keepdims=true)
    %4 = div(%2, %3)
    return %4
  })");
  REQUIRE(p.groups.size() == 1);
  CHECK(p.groups[0].reduced == std::vector<int>{1});
  CHECK(p.groups[0].domain == ir::Shape{ir::Dim::symbol("M"), 64});
}

TEST_CASE("a reduction without kept dims joins through the reshape that puts the axis back") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[4, 8]) {
    %0 = sum(%x, axes=[1])
    %1 = reshape(%0, shape=[4, 1])
    %2 = div(%x, %1)
    return %2
  })");
  CHECK(p.groups.size() == 1);
}

TEST_CASE("a row's result that is read along the other axis is stored") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[8, 8]) {
    %0 = sum(%x, axes=[1])
    %1 = sub(%x, %0)
    return %1
  })");
  CHECK(p.groups.size() == 2);
  CHECK(has_reason(p, "axes in other places"));
}

TEST_CASE("reductions over different axes are different groups, and cheap producers are computed in both") {
  const Partition p = fuse_text(R"(graph @g(%x: bf16[8, 16]) {
    %0 = cast(%x, dtype=f32)
    %1 = sum(%0, axes=[0])
    %2 = sum(%0, axes=[1])
    return %1, %2
  })");
  REQUIRE(p.groups.size() == 2);
  CHECK(p.boundaries.empty());  // the cast is not stored
}

TEST_CASE("a dear producer of two incompatible readers is stored once") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[8, 16]) {
    %0 = tanh(%x)
    %1 = sum(%0, axes=[0])
    %2 = sum(%0, axes=[1])
    return %1, %2
  })");
  CHECK(p.groups.size() == 2);
  CHECK(p.boundaries.size() == 1);
}

TEST_CASE("an elementwise producer joins its only reader through any movement op") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[8, 16], %y: f32[16, 8]) {
    %0 = tanh(%x)
    %1 = permute_dims(%0, axes=[1, 0])
    %2 = add(%1, %y)
    return %2
  })");
  CHECK(p.groups.size() == 1);
}

TEST_CASE("a producer that joined through movement stays where it is when its group joins another") {
  // The gather's index is computed along an axis that the group's later domain, one element, does not have.
  const Partition p = fuse_text(R"(graph @g(%x: f32[5]) {
    %0 = iota(shape=[5], axis=0, dtype=int32)
    %1 = sub(4, %0)
    %2 = take_along_axis(%x, %1, axis=0)
    %3 = iota(shape=[1], axis=0, dtype=int64)
    %4 = add(%3, -1)
    %5 = take(%2, %4, axis=0)
    %6 = equal(%5, 0.0)
    return %6
  })");
  CHECK(p.groups.size() == 1);
}

TEST_CASE("a value and its transpose never meet in one kernel") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[8, 8]) {
    %0 = tanh(%x)
    %1 = permute_dims(%0, axes=[1, 0])
    %2 = add(%0, %1)
    return %2
  })");
  CHECK(p.groups.size() == 2);
  CHECK_FALSE(p.boundaries.empty());
}

TEST_CASE("siblings that read one tensor become one kernel with two outputs") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[8, 16]) {
    %0 = sin(%x)
    %1 = cos(%x)
    return %0, %1
  })");
  REQUIRE(p.groups.size() == 1);
  CHECK(p.groups[0].outputs.size() == 2);
}

TEST_CASE("a product keeps to itself, and what surrounds it is fused") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[8, 16], %w: f32[16, 4], %b: f32[4]) {
    %0 = mul(%x, 2.0)
    %1 = exp(%0)
    %2 = matmul(%1, %w)
    %3 = add(%2, %b)
    %4 = tanh(%3)
    return %4
  })");
  CHECK(p.groups.size() == 3);
  CHECK(kernels(p) == 2);
  CHECK(has_reason(p, "library"));
}

TEST_CASE("movement alone launches nothing, but for what no strides express") {
  CHECK(
      fuse_text("graph @g(%x: f32[8, 16]) { %0 = permute_dims(%x, axes=[1, 0]) return %0 }").groups.empty());
  CHECK(fuse_text("graph @g(%x: f32[8, 16]) { %0 = permute_dims(%x, axes=[1, 0]) %1 = reshape(%0, "
                  "shape=[128]) return %1 }")
            .groups.size() == 1);
  CHECK(fuse_text("graph @g(%x: f32[8]) { %0 = concat(%x, %x, axis=0) return %0 }").groups.size() == 1);
}

TEST_CASE("a concat of many tensors is fused with neither folds nor what reads it elsewhere") {
  std::string inputs, joined;
  for (int i = 0; i < 17; ++i) {
    inputs += "%x" + std::to_string(i) + ": f32[8], ";
    joined += "%x" + std::to_string(i) + ", ";
  }
  inputs += "%i: int64[9]";
  const auto partition = [&](const std::string& body) {
    const std::string text = "graph @g(" + inputs + ") { %c = concat(" + joined + "axis=0) " + body + " }";
    return fuse_text(text.c_str());
  };
  CHECK(partition("%y = mul(%c, 3) %z = tanh(%y) return %z").groups.size() == 1);
  for (const char* body : {"%y = sum(%c, axes=[0]) return %y", "%y = take(%c, %i, axis=0) return %y",
                           "%y = sum(%c, axes=[0], keepdims=true) %z = sub(%c, %y) return %z"}) {
    const Partition p = partition(body);
    CHECK(p.groups.size() == 2);
    CHECK(has_reason(p, std::string_view(body).find("sum") != std::string_view::npos
                            ? "many tensors are joined by several kernels"
                            : "they walk over different elements"));
  }
}

TEST_CASE("a concat of many tensors takes in what comes before each, and what comes after is bounded") {
  const auto groups = [](int operations, int read_after) {
    std::string inputs, body, joined;
    for (int i = 0; i < 100; ++i) {
      inputs += fmt::format("{}%x{}: f32[8]", i > 0 ? ", " : "", i);
      std::string last = fmt::format("%x{}", i);
      for (int j = 0; j < operations; ++j) {
        body += fmt::format("%y{}_{} = sin({})\n", i, j, last);
        last = fmt::format("%y{}_{}", i, j);
      }
      joined += last + ", ";
    }
    body += fmt::format("%c0 = concat({}axis=0)\n", joined);
    for (int j = 0; j < read_after; ++j) {
      inputs += fmt::format(", %z{}: f32[800]", j);
      body += fmt::format("%c{} = add(%c{}, %z{})\n", j + 1, j, j);
    }
    return fuse_text(fmt::format("graph @g({}) {{\n{}return %c{}\n}}", inputs, body, read_after).c_str())
        .groups.size();
  };
  CHECK(groups(0, 3) == 1);
  CHECK(groups(5, 3) == 1);
  CHECK(groups(60, 0) == 1);
  CHECK(groups(70, 0) == 101);  // each of them is much by itself
  CHECK(groups(1, 40) == 1);
  CHECK(groups(1, 60) == 2);  // a kernel reads 48 tensors
}

TEST_CASE("groups run in an order in which their inputs are there") {
  const Partition p = fuse_text(R"(graph @g(%x: f32[8, 8]) {
    %0 = sum(%x, axes=[0])
    %1 = tanh(%0)
    %2 = sub(%x, %1)
    %3 = sum(%2, axes=[1])
    %4 = exp(%3)
    return %4
  })");
  std::vector<ir::Value> written;
  for (const passes::Group& group : p.groups) {
    for (ir::Value v : group.inputs) CHECK((v.id == 0 || std::ranges::find(written, v) != written.end()));
    written.insert(written.end(), group.outputs.begin(), group.outputs.end());
  }
}

TEST_CASE("a long chain is cut, and a group grown by later nodes closes no cycle") {
  // Each block reads the one before both directly and folded over the other axis.
  ir::Graph g("blocks");
  ir::Value v = g.input("x", f32, ir::Shape{8, 8});
  for (int i = 0; i < 400; ++i) {
    const std::vector<std::int64_t> axis{i % 2};
    const ir::Value s = ir::reduce(g, ir::Op::sum, v, axis, true);
    const ir::Operand operands[] = {v, s};
    const ir::Value d = ir::elementwise(g, ir::Op::sub, operands);
    const ir::Operand one[] = {d};
    v = ir::elementwise(g, ir::Op::tanh, one);
    if (i % 7 == 0) v = ir::permute_dims(g, v, {1, 0});
  }
  g.output(v);
  const Partition p = fuse(g);
  CHECK(p.groups.size() > 100);
  for (const passes::Group& group : p.groups) CHECK(group.nodes.size() <= 256);
}

TEST_CASE(
    "elementwise fusion alone leaves reductions and gathers to themselves, with the casts beside them") {
  const testing::ScopedEnvironment environment{{"SINTER_FUSION", "elementwise"}};
  const Partition softmax = fuse_text(R"(graph @softmax(%x: bf16[8, 64]) {
    %0 = cast(%x, dtype=f32)
    %1 = max(%0, axes=[1], keepdims=true)
    %2 = sub(%0, %1)
    %3 = exp(%2)
    %4 = sum(%3, axes=[1], keepdims=true)
    %5 = div(%3, %4)
    %6 = cast(%5, dtype=bf16)
    return %6
  })");
  REQUIRE(kernels(softmax) == 4);
  CHECK(softmax.groups[0].nodes.size() == 2);  // cast, max
  CHECK(softmax.groups[1].nodes.size() == 3);  // cast, sub, exp
  CHECK(softmax.groups[2].nodes.size() == 1);  // sum
  CHECK(softmax.groups[3].nodes.size() == 2);  // div, cast
  CHECK(has_reason(softmax, "SINTER_FUSION=elementwise"));
  CHECK(kernels(fuse_text(R"(graph @sums(%x: bf16[8, 64]) {
    %0 = cast(%x, dtype=f32)
    %1 = sum(%0, axes=[0])
    %2 = cast(%1, dtype=bf16)
    %3 = mul(%0, %0)
    %4 = sum(%3, axes=[0])
    return %2, %4
  })")) == 3);
  CHECK(kernels(fuse_text(R"(graph @rows(%x: f32[8, 64], %i: int64[4]) {
    %0 = exp(%x)
    %1 = take(%0, %i, axis=0)
    %2 = tanh(%1)
    return %2
  })")) == 3);
}

TEST_CASE(
    "rows and across them: a group that folds rows takes in what is folded across them, where a device can") {
  const char* const text = R"(graph @backward(%g: f32[M, 64], %x: f32[M, 64]) {
    %0 = mul(%g, %x)
    %1 = sum(%0, axes=[1], keepdims=true)
    %2 = sub(%g, mul(%x, %1))
    %3 = sum(%0, axes=[0])
    %4 = mul(%3, 2)
    %5 = sum(%g, axes=[0])
    return %2, %4, %5
  })";
  CHECK(fuse_text(text).groups.size() > 1);
  const Partition p = fuse(ir::parse(text), {}, {}, {.across_rows = true});
  REQUIRE(p.groups.size() == 1);
  CHECK(p.groups[0].reduced == std::vector<int>{1});
  CHECK(p.groups[0].after_rows.size() == 3);  // both sums across rows, and the product of one
}

TEST_CASE("rows and across them: not where elements of all rows need what is folded across them") {
  const Partition p = fuse(ir::parse(R"(graph @both(%x: f32[32, 64]) {
    %0 = sum(%x, axes=[0], keepdims=true)
    %1 = sub(%x, %0)
    %2 = sum(%1, axes=[1])
    return %2
  })"),
                           {}, {}, {.across_rows = true});
  CHECK(p.groups.size() == 2);
  for (const passes::Group& group : p.groups) CHECK(group.after_rows.empty());
  CHECK(has_reason(p, "elements of all rows depend"));
}

TEST_CASE("rows and across them: not where a row is too long for what threads can hold") {
  const auto groups = [](int length, std::int64_t row_memory) {
    const ir::Graph g = ir::parse(fmt::format(R"(graph @long(%x: f32[32, {0}]) {{
      return sum(%x, axes=[0]), sum(%x, axes=[1])
    }})",
                                              length));
    return fuse(g, {}, {}, {.across_rows = true, .row_memory = row_memory}).groups.size();
  };
  CHECK(groups(15000, 0) == 1);
  CHECK(groups(16000, 0) == 2);
  // With 200 kB for the row at hand and the next: up to 25000 of 4 bytes each.
  CHECK(groups(25000, 200000) == 1);
  CHECK(groups(25001, 200000) == 2);
  // What is carried along stays in registers.
  CHECK(groups(33000, 1 << 30) == 2);
}
