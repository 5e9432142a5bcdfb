// Which groups are cut at their folds, and into what.
#include "codegen/cut_groups.h"

#include <fmt/format.h>

#include "codegen/merge_reductions.h"
#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;

namespace {

passes::Partition cut(const std::string& shape, const std::string& body) {
  const ir::Graph g = ir::parse(fmt::format("graph @g(%x: {}) {{\n  {}\n}}\n", shape, body));
  const DeviceDescription& device = describe(Target::cuda("sm_90a"));
  std::vector<std::optional<ir::View>> views = passes::memory_views(g);
  passes::Partition partition = passes::fuse(g);
  for (const passes::Group& group : partition.groups)
    for (ir::Value v : group.outputs) views[v.id] = ir::View{v, 0, ir::contiguous_strides(g.shape(v))};
  return cut_groups(g, std::move(partition), views, [&](const passes::Group& group) {
    Kernel kernel = lower(g, group, views);
    merge_reductions(kernel);
    return cut_of(kernel, choose_schedule(kernel, device), device);
  });
}

const char* const softmax =
    "%e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n  return div(%e, sum(%e, axes=[1], "
    "keepdims=true))";

}  // namespace

TEST_CASE("a kernel that walks few long rows again is cut at its folds") {
  const passes::Partition softmaxes = cut("f32[8, 33554432]", softmax);
  REQUIRE(softmaxes.groups.size() == 2);  // the maximum and the sum are folded in one walk
  CHECK(softmaxes.groups[0].reduced == std::vector<int>{1});
  CHECK(softmaxes.groups[0].outputs.size() == 2);
  CHECK(softmaxes.groups[1].reduced.empty());
  CHECK(softmaxes.groups[1].inputs.size() == 3);
  REQUIRE(softmaxes.boundaries.size() == 2);
  CHECK(softmaxes.boundaries[0].reason ==
        "rows or columns are few for all processors, which share each fold");

  // What is stored for each element anyway is read, and not computed anew.
  const passes::Partition norm =
      cut("f32[4, 33554432]",
          "%s = exp(%x)\n  return %s, mul(%s, rsqrt(sum(mul(%s, %s), axes=[1], keepdims=true)))");
  REQUIRE(norm.groups.size() == 2);
  CHECK(norm.groups[0].outputs.size() == 2);
  CHECK(norm.groups[1].inputs.size() == 2);
  CHECK(norm.groups[1].nodes.size() == 1);
}

TEST_CASE("short rows, many rows and rows that are walked once are not cut") {
  CHECK(cut("f32[8, 16384]", softmax).groups.size() == 1);
  CHECK(cut("f32[4096, 4194304]", softmax).groups.size() == 1);
  CHECK(cut("f32[8, 33554432]", "return sum(exp(%x), axes=[1])").groups.size() == 1);
}
