// What blocks do together, and with copies that run beside their threads, through NVRTC: on every
// architecture that has it, the kernel spills nothing and accesses global memory as its text says.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codegen/prelude.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/ptx_accesses.h"
#include "runtime/cuda/ptxas_report.h"
#include "tests/catch.h"

using namespace sinter;
using runtime::nvrtc;

namespace {

/// A kernel over a (f32), b (bf16), x and y to store the like, part and counter.
std::string kernel(const std::string& body) {
  const std::string text =
      "namespace sinter {\n\nstruct Params {\n  const f32* a;\n  const bf16* b;\n  f32* x;\n  bf16* y;\n  "
      "f32* "
      "part;\n  uint32* counter;\n};\n\n"
      "extern \"C\" __global__ void __launch_bounds__(256) together(const Params p) {\n"
      "  const int t = (int)threadIdx.x;\n" +
      body + "}\n\n}  // namespace sinter\n";
  return codegen::prelude(text, codegen::Backend::cuda) + "\n" + text;
}

constexpr const char* last_block = R"(
  const vec<f32, 4> a = load_vec<4, 4>(p.a + (blockIdx.x * 256 + t) * 4);
  const vec<bf16, 8> b = load_vec<8, 8>(p.b + (blockIdx.x * 256 + t) * 8);
  store_vec<4>(p.x + (blockIdx.x * 256 + t) * 4, a);
  store_vec<8>(p.y + (blockIdx.x * 256 + t) * 8, b);
  f32* const mine = dynamic_shared<f32>(128);
  mine[t] = a.at[0] + to_f32(b.at[7]);
  sync_block();
  p.part[blockIdx.x * 256 + t] = mine[255 - t];
  if (arrive_last(p.counter, gridDim.x)) {
    f32 sum = 0;
    for (int i = 0; i < 8; ++i) sum += p.part[i * 256 + t];
    p.part[t] = sum;
  }
)";

constexpr const char* cluster = R"(
  __shared__ bulk_barrier bar;
  __shared__ f32 got[8];
  f32* const row = dynamic_shared<f32>();
  cluster_arrive();
  if (t == 0) {
    bulk_init(&bar);
    bulk_load(row, p.a + blockIdx.x * 1024, 4096, &bar);
    bulk_prefetch(p.a + (blockIdx.x + 132) * 1024, 4096);
  }
  sync_block();
  bulk_wait(&bar, 0);
  const f32 mine = row[1023 - t];
  cluster_wait();
  if (t < 8) store_to_block(&got[cluster_rank()], t, mine);
  cluster_arrive();
  cluster_wait();
  p.x[blockIdx.x * 256 + t] = got[t % 8];
)";

constexpr const char* outlasting = R"(
  __shared__ bulk_barrier bar;
  f32* const row = dynamic_shared<f32>();
  if (t == 0) {
    bulk_init(&bar);
    bulk_load_outlasting(row, p.a + blockIdx.x * 1024, 4096, &bar);
    bulk_prefetch_outlasting(p.a + (blockIdx.x + 132) * 1024, 4096);
  }
  const uint64 policy = outlasting();
  const vec<bf16, 8> b = load_vec_outlasting<8, 8>(p.b + (blockIdx.x * 256 + t) * 8, policy);
  const vec<bf16, 8> again = load_vec_outlasting<4, 8>(p.b + (blockIdx.x * 256 + t) * 8, policy);
  sync_block();
  bulk_wait(&bar, 0);
  p.x[blockIdx.x * 256 + t] = row[t] + to_f32(b.at[7]) + to_f32(again.at[1]);
)";

constexpr const char* messages = R"(
  uint64* const words = (uint64*)p.counter;
  const int piece = (int)take_ticket(p.counter + 64, gridDim.x);
  const vec<f32, 4> a = load_vec<4, 4>(p.a + (piece * 256 + t) * 4);
  __shared__ f64 got[32];
  if (t < 32) {
    uint32 halves[2];
    to_halves((f64)a.at[0], halves);
    if (t == 0) send(words + piece % 32 * 2, halves);
    receive(words + t * 2, halves);
    from_halves(halves, got[t]);
  }
  sync_block();
  if (t == 0) clear_received(words, 64, p.counter + 65, 32);
  p.x[piece * 256 + t] = (f32)got[t % 32] + a.at[3];
)";

struct Compiled {
  runtime::CudaCode code;
  std::vector<std::string> accesses;
};

Compiled compile(const char* body, const std::string& arch) {
  Compiled made{nvrtc().compile("together", kernel(body), arch), {}};
  const auto used = runtime::read_ptxas_report(made.code.log);
  REQUIRE(used);
  CHECK(used->spill_bytes == 0);
  CHECK(used->stack_bytes == 0);
  const std::array pointers{0, 8, 16, 24, 32, 40};
  for (const runtime::GlobalAccesses& a : runtime::global_accesses(made.code.ptx, pointers))
    made.accesses.push_back(
        fmt::format("{} {} bytes at {}", a.is_store ? "store" : "load", a.bytes, a.parameter));
  return made;
}

bool has(const Compiled& made, const std::string& text) {
  return made.code.ptx.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a fold by the last block compiles for every architecture") {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
  for (const int number : nvrtc().architectures()) {
    INFO(number);
    const Compiled made = compile(last_block, fmt::format("sm_{}", number));
    CHECK(made.accesses == std::vector<std::string>{"load 16 bytes at 0", "load 16 bytes at 8",
                                                    "store 16 bytes at 16", "store 16 bytes at 24",
                                                    "load 4 bytes at 32", "store 4 bytes at 32"});
    CHECK(has(made, "atom.acq_rel.gpu.global.inc.u32"));
    // What others have written is read after the arrival, and not through the cache of what never changes.
    CHECK(made.code.ptx.find("ld.global.f32", made.code.ptx.find("atom.acq_rel")) != std::string::npos);
    CHECK(made.code.ptx.find("ld.global.nc", made.code.ptx.find("atom.acq_rel")) == std::string::npos);
  }
}

TEST_CASE("clusters and bulk copies compile for every architecture from sm_90 on") {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
  std::vector<std::string> archs{"sm_90a"};
  for (const int number : nvrtc().architectures())
    if (number >= 90) archs.push_back(fmt::format("sm_{}", number));
  for (const std::string& arch : archs) {
    INFO(arch);
    const Compiled made = compile(cluster, arch);
    CHECK(made.accesses == std::vector<std::string>{"load 16 bytes at 0", "store 4 bytes at 16"});
    for (const char* text :
         {"cp.async.bulk.shared::cluster.global", "mbarrier.try_wait", "barrier.cluster.arrive",
          "barrier.cluster.wait", "st.shared::cluster.u32", "cp.async.bulk.prefetch.L2"})
      CHECK(has(made, text));
    CHECK(has(made, "ld.shared.f32"));  // not by addresses that could be of any memory
  }
}

TEST_CASE("what outlasts the rest in the cache is asked for by every kind of load from sm_90 on") {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
  for (const int number : nvrtc().architectures()) {
    if (number < 90) continue;
    INFO(number);
    const Compiled made = compile(outlasting, fmt::format("sm_{}", number));
    CHECK(made.accesses == std::vector<std::string>{"load 16 bytes at 0", "load 16 bytes at 8",
                                                    "load 8 bytes at 8", "store 4 bytes at 16"});
    for (const char* text : {"createpolicy.fractional.L2::evict_last", "ld.global.L2::cache_hint.v4",
                             "ld.global.L2::cache_hint.v2", "complete_tx::bytes.L2::cache_hint",
                             "cp.async.bulk.prefetch.L2.global.L2::cache_hint"})
      CHECK(has(made, text));
  }
}

TEST_CASE("blocks that wait for each other's messages compile for every architecture") {
  if (!nvrtc().usable()) SINTER_SKIP("no NVRTC: " + nvrtc().reason());
  for (const int number : nvrtc().architectures()) {
    INFO(number);
    const Compiled made = compile(messages, fmt::format("sm_{}", number));
    for (const char* text : {"atom.relaxed.gpu.global.inc.u32", "st.relaxed.gpu.global.u64",
                             "ld.relaxed.gpu.global.u64", "nanosleep.u32"})
      CHECK(has(made, text));
  }
}
