// Which reductions can be folded along with another, and what is said of those that cannot.
#include "codegen/merge_reductions.h"

#include <fmt/format.h>

#include "codegen/staging.h"
#include "codegen/team.h"
#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;

namespace {

struct Merged {
  int joined = 0;
  std::vector<std::string> apart;
};

/// Of a kernel whose formula may use %m, the maximum of %x, and %k, a number for every row.
Merged merged(std::string_view body, std::string_view inputs = "%x: f32[8, 4096]") {
  Kernel k = kernel_of(
      fmt::format("{}, %w: f32[8, 4096], %h: f16[8, 4096], %k: f32[8, 1], %c: bool[8, 4096])", inputs), body);
  merge_reductions(k);
  return {static_cast<int>(joinable(k, true).size()), k.apart};
}

/// Of "%e", terms that are summed.
Merged summed(std::string_view lines, std::string_view leader = "max(%x, axes=[1], keepdims=true)") {
  return merged(fmt::format("%m = {}\n  {}\n  return sum(%e, axes=[1])", leader, lines));
}

}  // namespace

TEST_CASE("sums of exponentials are folded along with the maximum that they are shifted by") {
  for (const char* terms : {
           "%e = exp(sub(%x, %m))",
           "%e = exp2(sub(%x, %m))",
           "%e = exp(mul(0.5, sub(%x, %m)))",
           "%e = exp(div(sub(%x, %m), %k))",
           "%e = exp(sub(mul(%x, %k), mul(%m, %k)))",
           "%e = exp(fma(%x, %k, neg(mul(%k, %m))))",
           "%e = exp(neg(sub(%m, %x)))",
           "%e = exp(add(sub(%x, %m), %k))",
           "%e = exp(cast(sub(%x, %m), dtype=f64))",
           "%e = exp(sub(%x, where(isinf(%m), 0, %m)))",
           "%e = exp(sub(%x, where(isfinite(%m), %m, 0)))",
           "%e = exp(sub(%x, maximum(%m, -1e30)))",
           "%e = where(%c, exp(sub(%x, %m)), 0)",
           "%e = mul(exp(sub(%x, %m)), cast(%c, dtype=f32))",
           "%e = neg(mul(2.5, exp(sub(%x, %m))))",
           "%p = exp(sub(%x, %m))\n  %e = mul(%p, %p)",
           "%p = exp(sub(%x, %m))\n  %e = add(%p, mul(2, %p))",
       }) {
    INFO(terms);
    const Merged m = summed(terms);
    CHECK(m.joined == 1);
    CHECK(m.apart.empty());
  }
}

TEST_CASE("a minimum leads as a maximum does") {
  const char* min = "min(%x, axes=[1], keepdims=true)";
  CHECK(summed("%e = exp(sub(%m, %x))", min).joined == 1);
  CHECK(summed("%e = exp(sub(%x, minimum(%m, 1e30)))", min).joined == 1);
}

TEST_CASE("what is masked may be masked before the maximum or after the exponential") {
  const char* masked = "max(where(%c, %x, -inf), axes=[1], keepdims=true)";
  CHECK(summed("%e = exp(sub(where(%c, %x, -inf), %m))", masked).joined == 1);
  CHECK(summed("%e = where(%c, exp(sub(%x, %m)), 0)", masked).joined == 1);
  CHECK(summed("%e = exp(sub(%x, %m))", masked).joined == 0);
}

TEST_CASE("several sums follow one maximum") {
  const Merged m = merged(
      "%m = max(%x, axes=[1], keepdims=true)\n  %a = sum(exp(sub(%x, %m)), axes=[1])\n  %b = "
      "sum(exp(mul(0.25, "
      "sub(%x, %m))), axes=[1])\n  return %a, %b");
  CHECK(m.joined == 2);
}

TEST_CASE("what would overflow, or is not rescaled, is folded in a walk of its own") {
  for (const char* terms : {
           "%e = exp(sub(%w, %m))",                                // x is not what the maximum bounds
           "%e = exp(sub(%x, mul(2, %m)))",                        // nor is this
           "%e = exp(add(sub(%x, %m), %w))",                       // a factor of any size
           "%e = mul(exp(sub(%x, %m)), %w)",                       // the same
           "%e = mul(exp(sub(%x, %m)), cast(%h, dtype=f32))",      // f16 has infinities
           "%e = div(exp(sub(%x, %m)), %w)",                       // the like
           "%e = exp(mul(sub(%x, %m), %w))",                       // a power that differs along the row
           "%e = exp(sub(%x, where(greater(%m, 5), %m, -1000)))",  // no bound
           "%e = mul(sub(%x, %m), exp(sub(%x, %m)))",              // no multiple
           "%e = add(exp(sub(%x, %m)), 1)",                        // nor this
           "%e = sub(%x, %m)",
           "%e = tanh(sub(%x, %m))",
           "%e = mul(exp(sub(%x, %m)), %m)",
       }) {
    INFO(terms);
    const Merged m = summed(terms);
    CHECK(m.joined == 0);
    REQUIRE(m.apart.size() == 1);
    CHECK(m.apart[0].find("its terms are not") != std::string::npos);
  }
}

TEST_CASE("why a reduction is folded after another is said") {
  Merged m = merged("%m = max(%x, axes=[1], keepdims=true)\n  return max(exp(sub(%x, %m)), axes=[1])");
  REQUIRE(m.apart.size() == 1);
  CHECK(m.apart[0].find("only sums are rescaled") != std::string::npos);
  m = merged("%m = prod(%x, axes=[1], keepdims=true)\n  return sum(exp(sub(%x, %m)), axes=[1])");
  REQUIRE(m.apart.size() == 1);
  CHECK(m.apart[0].find("no maximum, minimum or sum") != std::string::npos);
  m = merged(
      "%m = max(%x, axes=[1], keepdims=true)\n  %n = min(%x, axes=[1], keepdims=true)\n  return "
      "sum(mul(exp(sub(%x, %m)), exp(sub(%n, %x))), axes=[1])");
  REQUIRE(m.apart.size() == 1);
  CHECK(m.apart[0].find("several results") != std::string::npos);
}

TEST_CASE("squared distances from a mean are folded along with the sum that it is made of") {
  const char* sum = "sum(%x, axes=[1], keepdims=true)";
  for (const char* terms : {
           "%d = sub(%x, div(%m, 4096))\n  %e = mul(%d, %d)",
           "%d = sub(mul(0.000244140625, %m), %x)\n  %e = mul(%d, %d)",
       }) {
    INFO(terms);
    CHECK(summed(terms, sum).joined == 1);
  }
  for (const char* terms : {
           "%d = sub(%x, div(%m, 4095))\n  %e = mul(%d, %d)",  // no mean
           "%d = sub(%w, div(%m, 4096))\n  %e = mul(%d, %d)",  // of another tensor
           "%d = sub(%x, div(%m, 4096))\n  %e = mul(%d, %x)",
           "%d = sub(mul(2, %x), div(%m, 4096))\n  %e = mul(%d, %d)",
           "%d = sub(%x, div(%m, 4096))\n  %e = abs(%d)",
       }) {
    INFO(terms);
    const Merged m = summed(terms, sum);
    CHECK(m.joined == 0);
    REQUIRE(m.apart.size() == 1);
    CHECK(m.apart[0].find("(x - mean)^2") != std::string::npos);
  }
  CHECK(
      summed("%d = sub(%x, div(%m, 4096))\n  %e = mul(%d, %d)", "max(%x, axes=[1], keepdims=true)").joined ==
      0);
}

TEST_CASE("reductions that need no other's result say nothing") {
  const Merged m = merged("return sum(%x, axes=[1]), max(%x, axes=[1])");
  CHECK(m.joined == 0);
  CHECK(m.apart.empty());
}

TEST_CASE("a joined sum is folded in a walk that continues its leader's") {
  Kernel k = kernel_of("%x: f32[8, 65536])",
                       "%m = max(%x, axes=[1], keepdims=true)\n  %e = exp(sub(%x, %m))\n  return div(%e, "
                       "sum(%e, axes=[1], keepdims=true))");
  merge_reductions(k);
  const auto nothing = [](int) { return false; };
  const Staging joined = stage(k, nothing, joinable(k));
  REQUIRE(joined.walks.size() == 3);
  CHECK_FALSE(joined.walks[0].continues);
  CHECK(joined.walks[1].continues);
  CHECK(joined.walks[1].restored == joined.walks[0].values);  // the element, which is loaded once
  CHECK(joined.walks[1].folds == joinable(k));
  CHECK_FALSE(joined.walks[2].continues);
  CHECK(joined.walks[2].restored.empty());  // what a thread made with its own maximum does not last
  CHECK(joined.walks[2].values.size() == 4);
  const Schedule s = schedule_of(k, Target::cuda("sm_90a"));
  CHECK(s.joined == joinable(k));
  CHECK(s.str().find("folded along") != std::string::npos);
  CHECK(schedule_of(k, Target::cpu()).joined.empty());
  k.fixed_fold_order = true;
  CHECK(schedule_of(k, Target::cuda("sm_90a")).joined.empty());
}

TEST_CASE("rows that are read once when their reductions are joined lie nowhere in between") {
  for (const char* cols : {"20000", "131072", "1000000"}) {
    Kernel k = kernel_of(fmt::format("%x: f32[4096, {}])", cols),
                         "%m = max(%x, axes=[1], keepdims=true)\n  return add(%m, log(sum(exp(sub(%x, %m)), "
                         "axes=[1], keepdims=true)))");
    merge_reductions(k);
    const KernelSource source = source_of(k, Target::cuda("sm_90a"));
    INFO(cols << " columns: " << source.schedule.str());
    CHECK((source.schedule.joined.empty() || source.schedule.chooser == "team rows"));
    CHECK((std::string(cols) == "20000" || source.schedule.joined == joinable(k)));
  }
}

TEST_CASE(
    "rows whose terms do not fit the registers of few threads are folded in one walk in shared memory") {
  const auto chosen = [](const char* input) {
    Kernel k = kernel_of(input,
                         "%y = cast(%x, dtype=f32)\n  %e = exp(sub(%y, max(%y, axes=[1], keepdims=true)))\n  "
                         "return div(%e, sum(%e, axes=[1], keepdims=true))");
    merge_reductions(k);
    return schedule_of(k, Target::cuda("sm_90a"));
  };
  for (const char* input : {"%x: bf16[M, 16384])", "%x: bf16[M, 16383])", "%x: bf16[M, 20000])",
                            "%x: f16[M, 10000])", "%x: f32[M, 16384])"}) {
    const Schedule s = chosen(input);
    INFO(input << ": " << s.str());
    CHECK(s.chooser == "shared rows");
    CHECK(s.joined.size() == 1);
  }
  CHECK(chosen("%x: bf16[M, 8192])").chooser == "team rows");
}
