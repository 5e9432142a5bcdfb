#include "runtime/cuda/ptx_accesses.h"

#include <array>

#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/ptxas_report.h"
#include "tests/catch.h"

using namespace sinter::runtime;

namespace {

std::string kernel(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.visible .entry f(\n\t.param .align 8 .b8 f_param_0[32]\n)\n{\n" +
         body + "\tret;\n}\n";
}

struct Expected {
  int parameter;
  bool is_store;
  int bytes, count;
  friend bool operator==(const Expected&, const Expected&) = default;
};

std::vector<Expected> accesses(const std::string& body) {
  const std::array pointers{0, 8, 16};
  std::vector<Expected> found;
  for (const GlobalAccesses& a : global_accesses(kernel(body), pointers))
    found.push_back({a.parameter, a.is_store, a.bytes, a.count});
  return found;
}

}  // namespace

TEST_CASE("accesses are counted by pointer, direction and width") {
  const std::string body =
      "\tld.param.v2.u64 {%rd1, %rd2}, [f_param_0];\n"
      "\tld.param.u32 %r1, [f_param_0+24];  // a length\n"
      "\tcvta.to.global.u64 %rd3, %rd1;\n"
      "\tcvta.to.global.u64 %rd4, %rd2;\n"
      "\tmul.wide.s32 %rd5, %r1, 16;\n"
      "\tadd.s64 %rd6, %rd3, %rd5;\n"
      "\tadd.s64 %rd7, %rd4, %rd5;\n"
      "\tld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd6];\n"
      "\tld.global.v2.u32 {%r2, %r3}, [%rd6+16];\n"
      "\tld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%r4, %r5, %r6, %r7}, [%rd6+32];\n"
      "\t@%p1 st.global.u16 [%rd7], %rs1;\n"
      "\tst.global.cs.v8.b32 [%rd7+32], {%r2, %r2, %r2, %r2, %r2, %r2, %r2, %r2};\n"
      "\tst.shared.v4.f32 [%r9], {%f1, %f2, %f3, %f4};\n"
      "\tld.local.u32 %r8, [%rd9];\n";
  CHECK(accesses(body) ==
        std::vector<Expected>{{0, false, 16, 2}, {0, false, 8, 1}, {8, true, 32, 1}, {8, true, 2, 1}});
}

TEST_CASE("scopes do not hide instructions, and bulk copies are loads") {
  const std::string body =
      "\tld.param.u64 %rd1, [f_param_0];\n"
      "\tld.param.u64 %rd2, [f_param_0+8];\n"
      "\t{ .reg .b16 tmp; mov.b32 {tmp, %rs1}, %r11; }\n"
      "\tcvta.to.global.u64 %rd3, %rd1;\n"
      "\tld.global.v2.u32 {%r2, %r3}, [%rd3];\n"
      "\tcvta.to.global.u64 %rd4, %rd2;\n"
      "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd4], %r6, [%r7];\n"
      "\tcp.async.bulk.prefetch.L2.global [%rd3], %r6;\n"
      "\tst.shared::cluster.u32 [%r8], %r9;\n";
  CHECK(accesses(body) == std::vector<Expected>{{0, false, 8, 1}, {8, false, 16, 1}});
}

TEST_CASE("pointers are followed through loops, and what is loaded is none") {
  const std::string body =
      "\tld.param.u64 %rd1, [f_param_0+16];\n"
      "\tld.param.u64 %rd2, [f_param_0+8];\n"
      "\tld.param.u64 %rd8, [f_param_0+24];\n"  // a length of 64 bits
      "\tmad.lo.s64 %rd3, %rd8, 4, %rd1;\n"
      "$L__BB0_2:\n"
      "\tld.global.b64 %rd4, [%rd3];\n"
      "\tshl.b64 %rd5, %rd4, 1;\n"
      "\tadd.s64 %rd6, %rd2, %rd5;\n"
      "\tld.global.u8 %rs1, [%rd6];\n"
      "\tmov.u64 %rd7, %rd3;\n"
      "\tadd.s64 %rd3, %rd7, 1024;\n"
      "\t@%p1 bra $L__BB0_2;\n"
      "\tst.global.b128 [%rd7], %rq1;\n";
  CHECK(accesses(body) == std::vector<Expected>{{8, false, 1, 1}, {16, false, 8, 1}, {16, true, 16, 1}});
}

TEST_CASE("copies into shared memory are loads, and an address of two pointers is nobody's") {
  const std::string body =
      "\tld.param.u64 %rd1, [f_param_0];\n"
      "\tld.param.u64 %rd2, [f_param_0+8];\n"
      "\tcp.async.cg.shared.global [%r1], [%rd1], 16;\n"
      "\tselp.b64 %rd3, %rd1, %rd2, %p1;\n"
      "\tld.u32 %r2, [%rd3];\n";
  CHECK(accesses(body) == std::vector<Expected>{{-1, false, 4, 1}, {0, false, 16, 1}});
}

TEST_CASE("bulk copies are loads of the least that they move; prefetches are none") {
  const std::string body =
      "\tld.param.u64 %rd1, [f_param_0];\n"
      "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];\n"
      "\tcp.async.bulk.prefetch.L2.global [%rd1], %r2;\n";
  CHECK(accesses(body) == std::vector<Expected>{{0, false, 16, 1}});
}

TEST_CASE("text that is no PTX has no accesses") {
  CHECK(global_accesses("", {}).empty());
  CHECK(global_accesses("int main() {}", {}).empty());
}

TEST_CASE("what ptxas says of a kernel is read from the log") {
  const auto report = read_ptxas_report(
      "ptxas info    : 4 bytes gmem\n"
      "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
      "ptxas info    : Function properties for f\n"
      "ptxas         .     48 bytes stack frame, 52 bytes spill stores, 64 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 48 bytes cumulative stack size, 4160 bytes smem\n"
      "ptxas info    : Compile time = 38.136 ms\n");
  REQUIRE(report);
  CHECK(report->registers == 255);
  CHECK(report->stack_bytes == 48);
  CHECK(report->spill_bytes == 116);
  CHECK(report->shared_bytes == 4160);
  CHECK_FALSE(read_ptxas_report("nothing of the kind"));
}

TEST_CASE("spills and shared memory of a compiled kernel are found") {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
  const std::string source =
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) crowded(float* x, int n) {\n"
      "  __shared__ float tile[1024];\n"
      "  float v[96];\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 96; ++i) v[i] = x[i * n + threadIdx.x];\n"
      "  tile[threadIdx.x] = v[5];\n"
      "  __syncthreads();\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 96; ++i) x[i * n + threadIdx.x] = v[95 - i] * v[i / 2] + tile[i];\n"
      "}\n";
  const auto report = read_ptxas_report(nvrtc().compile("crowded", source, "sm_80").log);
  REQUIRE(report);
  CHECK(report->registers <= 32);
  CHECK(report->spill_bytes > 0);
  CHECK(report->shared_bytes == 4096);
}

TEST_CASE("an instance's pointers are found behind the address of its parameters") {
  const std::array pointers{0, 8, 16};
  const std::string body =
      "\tmov.b64 %rd2, f_param_0;\n"
      "\tmul.wide.u32 %rd3, %r1, 40;\n"
      "\tadd.s64 %rd4, %rd2, %rd3;\n"
      "\tadd.s64 %rd1, %rd4, 24;\n"
      "\tmad.wide.u32 %rd8, %r1, 40, %rd2;\n"
      "\tld.param.u64 %rd5, [%rd1+-16];\n"
      "\tld.param.u64 %rd6, [%rd4+16];\n"
      "\tld.param.u64 %rd7, [%rd8];\n"
      "\tld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];\n"
      "\tld.global.u16 %rs1, [%rd7];\n"
      "\tst.global.v2.f32 [%rd6], {%f1, %f2};\n";
  std::vector<Expected> found;
  for (const GlobalAccesses& a : global_accesses(kernel(body), pointers, 40))
    found.push_back({a.parameter, a.is_store, a.bytes, a.count});
  CHECK(found == std::vector<Expected>{{0, false, 2, 1}, {8, false, 16, 1}, {16, true, 8, 1}});
}
