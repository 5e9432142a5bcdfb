// The CUDA text of many kernels, as nvcc takes it: no warnings, no spills, and loads and stores as wide as
// the schedule says.
#include <fmt/format.h>

#include "passes/pipeline.h"
#include "runtime/subprocess.h"
#include "tests/catch.h"
#include "tests/codegen/kernels.h"
#include "tests/support/compile_source.h"
#include "tests/support/random_graph.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;

namespace {

std::string nvcc() {
  if (const std::string path = runtime::find_program("nvcc"); !path.empty()) return path;
  SINTER_SKIP("no nvcc on PATH");
}

/// Many kernels in one file: each in a namespace of its own, with an entry of its own name.
class ManyKernels {
 public:
  void add(const Kernel& kernel, const Target& target) {
    const KernelSource source = source_of(kernel, target);
    std::string text = replaced(source.text, "namespace sinter", fmt::format("namespace k{}", count_));
    text = replaced(text, fmt::format(" {}(", source.name), fmt::format(" {}_{}(", source.name, count_));
    text_ += text;
    ++count_;
  }
  void add_graph(const ir::Graph& g, const Target& target) {
    for (const Kernel& k : kernels_of(passes::optimize(g, {Numerics::standard}))) add(k, target);
  }
  const std::string& text() const { return text_; }
  int count() const { return count_; }

 private:
  std::string text_;
  int count_ = 0;
};

/// Warning 177 is of variables that nothing uses: every index of an element is declared, whether it is needed
/// or not.
CompiledSource compiled(const std::string& text, const std::string& arch, const char* kind) {
  return compile_source(
      {nvcc(), "-std=c++17", "-fmad=false", kind, "-arch=" + arch, "-Xptxas", "-v", "-diag-suppress", "177"},
      text, "kernels.cu");
}

constexpr const char* formulas[] = {
    // gelu, in both formulas
    "(%x: f32[512, 512]) {\n  %u = mul(0.79788456, add(%x, mul(0.044715, mul(mul(%x, %x), %x))))\n  return "
    "mul(mul(0.5, %x), add(1, tanh(%u)))\n}",
    "(%x: bf16[512, 512]) {\n  return mul(mul(0.5, %x), add(1, erf(mul(%x, 0.70710678))))\n}",
    // swiglu, with a bias
    "(%x: f16[M, 512], %g: f16[M, 512], %b: f16[512]) {\n  %h = add(%g, %b)\n  return mul(%x, div(%h, add(1, "
    "exp(neg(%h)))))\n}",
    // softmax and log softmax
    "(%x: f32[M, 1000]) {\n  %m = max(%x, axes=[1], keepdims=true)\n  %e = exp(sub(%x, %m))\n  return "
    "div(%e, sum(%e, axes=[1], keepdims=true))\n}",
    "(%x: bf16[64, 1024]) {\n  %d = sub(%x, max(%x, axes=[1], keepdims=true))\n  return sub(%d, "
    "log(sum(exp(%d), axes=[1], keepdims=true)))\n}",
    // layer norm with a scale, rms norm with a residual
    "(%x: f32[64, 512], %w: f32[512]) {\n  %d = sub(%x, div(sum(%x, axes=[1], keepdims=true), 512))\n"
    "  %v = div(sum(mul(%d, %d), axes=[1], keepdims=true), 512)\n  return mul(mul(%d, rsqrt(add(%v, 1e-5))), "
    "%w)\n}",
    "(%x: bf16[64, 512], %r: bf16[64, 512]) {\n  %s = add(%x, %r)\n  return %s, mul(%s, "
    "rsqrt(div(sum(mul(%s, %s), axes=[1], keepdims=true), 512)))\n}",
    // cross entropy, sums, places, transposition
    "(%x: f32[64, 1000], %i: int64[64, 1]) {\n  %d = sub(%x, max(%x, axes=[1], keepdims=true))\n"
    "  return sub(log(sum(exp(%d), axes=[1])), reshape(take_along_axis(%d, %i, axis=1), shape=[64]))\n}",
    "(%x: f32[640, 512]) {\n  return sum(%x, axes=[0]), sum(%x), argmax(%x, axes=[1]), argmin(%x, axes=[0]), "
    "any(greater(%x, 0))\n}",
    "(%x: f32[512, 512]) {\n  return add(%x, permute_dims(%x, axes=[1, 0]))\n}",
    "(%x: bf16[512, 384], %y: bf16[384, 512]) {\n  return add(%x, permute_dims(%y, axes=[1, 0]))\n}",
    "(%x: uint8[509, 511]) {\n  return add(1, permute_dims(%x, axes=[1, 0]))\n}",
    // channels first and last, two middle axes of short rows
    "(%x: uint8[4, 4096, 3]) {\n  return mul(cast(permute_dims(%x, axes=[0, 2, 1]), dtype=f32), 0.5)\n}",
    "(%x: f16[4, 3, 4096]) {\n  return mul(permute_dims(%x, axes=[0, 2, 1]), 0.5)\n}",
    "(%x: f32[4, 32, 48, 2]) {\n  return exp(permute_dims(%x, axes=[0, 2, 1, 3]))\n}",
    // rows and columns that blocks share, with one state and with many
    "(%x: f32[8, 4194304]) {\n  return sum(%x, axes=[1]), max(%x, axes=[1])\n}",
    "(%x: bf16[33554432]) {\n  return argmax(%x), sum(%x)\n}",
    "(%x: bf16[65536, 4096]) {\n  return sum(%x, axes=[0]), sum(mul(%x, %x), axes=[0])\n}",
    "(%x: f32[65536, 4096]) {\n  return argmax(%x, axes=[0])\n}",
    "(%x: f32[1024, 4096]) {\n  %e = exp(sub(%x, max(%x, axes=[0], keepdims=true)))\n  return div(%e, "
    "sum(%e, axes=[0], keepdims=true))\n}",
    // adamw
    "(%p: f32[4096], %g: f32[4096], %m: f32[4096], %v: f32[4096]) {\n  %m1 = add(mul(0.9, %m), mul(0.1, "
    "%g))\n"
    "  %v1 = add(mul(0.999, %v), mul(0.001, mul(%g, %g)))\n  return %m1, %v1, sub(mul(%p, 0.9999), "
    "mul(0.001, div(%m1, add(sqrt(%v1), 1e-8))))\n}",
    // pad, concat, gathers, random numbers, bool
    "(%x: f32[64], %i: int64[8], %b: bool[64]) {\n  return pad(%x, before=[3], after=[5], value=1), "
    "concat(%x, %x, axis=0), take(%x, %i, axis=0),"
    " logical_not(%b), where(%b, %x, 0), all(%b)\n}",
    "(%k: int64[], %c: int64[]) {\n  return random_bits(%k, %c, shape=[1000])\n}",
};

}  // namespace

TEST_CASE("generated CUDA source compiles for the oldest and the newest architecture, and spills nothing") {
  nvcc();
  for (const char* arch : {"sm_75", "sm_90a"}) {
    ManyKernels kernels;
    for (const char* formula : formulas)
      kernels.add_graph(ir::parse(std::string("graph @g").append(formula)), Target::cuda(arch));
    const CompiledSource result = compiled(kernels.text(), arch, "-cubin");
    INFO(result.messages);
    CHECK(result.ok);
    CHECK(result.messages.find("warning") == std::string::npos);
    CHECK(kernels.count() >= 15);
    for (std::size_t at = 0; (at = result.messages.find("bytes spill", at)) != std::string::npos; ++at)
      CHECK(result.messages.substr(at - 2, 2) == "0 ");
  }
}

TEST_CASE("many folds of columns in one kernel spill nothing") {
  nvcc();
  std::string body, results;
  for (int i = 0; i < 30; ++i) {
    body += fmt::format("  %s{} = sum(mul(%x, {}.5), axes=[0])\n", i, i);
    results += fmt::format("{}%s{}", i == 0 ? "" : ", ", i);
  }
  ManyKernels kernels;
  kernels.add_graph(
      ir::parse(fmt::format("graph @g(%x: f32[100000, 512]) {{\n{}  return {}\n}}\n", body, results)),
      Target::cuda("sm_90a"));
  const CompiledSource result = compiled(kernels.text(), "sm_90a", "-cubin");
  INFO(result.messages);
  REQUIRE(result.ok);
  CHECK(result.messages.find("0 bytes spill stores") != std::string::npos);
  for (std::size_t at = 0; (at = result.messages.find("bytes spill", at)) != std::string::npos; ++at)
    CHECK(result.messages.substr(at - 2, 2) == "0 ");
}

TEST_CASE("the CUDA source of random graphs compiles") {
  nvcc();
  ManyKernels kernels;
  RandomGraphOptions options;
  options.nodes = 8;
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    kernels.add_graph(random_graph(seed, options), Target::cuda("sm_90a"));
  const CompiledSource result = compiled(kernels.text(), "sm_90a", "-cubin");
  INFO(result.messages);
  CHECK(result.ok);
}

TEST_CASE("elementwise kernels load and store 16 bytes at once") {
  nvcc();
  ManyKernels kernels;
  kernels.add_graph(ir::parse(std::string("graph @g").append(formulas[0])), Target::cuda("sm_90a"));
  const CompiledSource result = compiled(kernels.text(), "sm_90a", "-ptx");
  INFO(result.messages);
  REQUIRE(result.ok);
  const auto accesses = [&](const char* instruction) {
    int n = 0;
    for (std::size_t at = 0; (at = result.output.find(instruction, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  CHECK(accesses("ld.global") + accesses("st.global") == 2);
  CHECK(accesses("ld.global.v4.f32") + accesses("ld.global.nc.v4.f32") + accesses("ld.global.v4.u32") +
            accesses("ld.global.nc.v4.u32") ==
        1);
  CHECK(accesses("st.global.v4.f32") + accesses("st.global.v4.u32") == 1);
}

TEST_CASE("kernels with tiles load and store 16 bytes at once on both sides") {
  nvcc();
  for (const char* formula :
       {"(%x: bf16[512, 384], %y: bf16[384, 512]) {\n  return add(%x, permute_dims(%y, axes=[1, 0]))\n}",
        "(%x: uint8[4, 4096, 3]) {\n  return add(1, permute_dims(%x, axes=[0, 2, 1]))\n}",
        "(%x: f16[4, 3, 4096]) {\n  return neg(permute_dims(%x, axes=[0, 2, 1]))\n}"}) {
    ManyKernels kernels;
    kernels.add_graph(ir::parse(std::string("graph @g").append(formula)), Target::cuda("sm_90a"));
    const CompiledSource result = compiled(kernels.text(), "sm_90a", "-ptx");
    INFO(result.messages);
    REQUIRE(result.ok);
    int all = 0, wide = 0;
    for (std::string_view text = result.output; !text.empty();
         text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1)) {
      const std::string_view line = text.substr(0, text.find('\n'));
      if (line.find("ld.global") == line.npos && line.find("st.global") == line.npos) continue;
      ++all;
      wide += line.find(".v4.") != line.npos || line.find(".v2.b64") != line.npos ||
              line.find(".v2.u64") != line.npos || line.find(".b128") != line.npos;
    }
    CHECK(all >= 2);
    CHECK(wide == all);
  }
}
