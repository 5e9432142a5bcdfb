// Faults planted in kernels, each of which the simulator finds and says what it is and where; and beside each
// the kernel as it should be, in which it finds nothing.
#include <fmt/format.h>

#include <cstring>

#include "tests/catch.h"
#include "tests/cuda_on_cpu/planted.h"

using namespace sinter;
using namespace sinter::testing::cuda_on_cpu;
using Catch::Matchers::ContainsSubstring;
using namespace std::string_literals;

TEST_CASE("an access out of range is found") {
  CHECK(found_in("out0[t] = in0[t] + 1.0f;").message == "");
  check_fault(found_in("out0[t] = in0[t + 1];"), Fault::out_of_range,
              "thread 255: reads 4 bytes at 0 bytes past the end of in0, which has 1024 bytes");
  check_fault(found_in("out0[t] = in0[t - 1];"), Fault::out_of_range,
              "thread 0: reads 4 bytes at 4 bytes before the start of in0");
  check_fault(found_in("out0[t + 1] = in0[t];"), Fault::out_of_range, "past the end of out0");
  check_fault(found_in("out0[t] = in0[t + 100000];"), Fault::out_of_range, "out0[t] = in0[t + 100000];");
  check_fault(found_in("*(vec<f32, 4>*)(out0 + t * 4) = *(const vec<f32, 4>*)(in0 + t * 4);", {254, 1, 64}),
              Fault::out_of_range, "16 bytes at 1008, over the end of");
  // Of a vector all is read, whatever of it is used.
  check_fault(
      found_in("const vec<f32, 4> x = *(const vec<f32, 4>*)(in0 + t * 4); out0[t] = x.at[0];", {254, 1, 64}),
      Fault::out_of_range, "reads 16 bytes at 1008, over the end of in0");
  check_fault(found_in("((f32*)in0)[t] = out0[t] = 1.0f;"), Fault::read_only, "writes to in0");
}

TEST_CASE("a missing barrier is found") {
  const std::string reversed = "__shared__ f32 a[256]; a[t] = in0[t]; {} out0[t] = a[255 - t];";
  CHECK(found_in(fmt::format(fmt::runtime(reversed), "sync_block();")).message == "");
  check_fault(found_in(fmt::format(fmt::runtime(reversed), "sync_warp();")), Fault::race,
              "with no barrier in between");

  // Within a warp.
  const std::string in_warp = "__shared__ f32 a[256]; a[t] = in0[t]; {} out0[t] = a[t ^ 1];";
  CHECK(found_in(fmt::format(fmt::runtime(in_warp), "sync_warp();")).message == "");
  check_fault(found_in(fmt::format(fmt::runtime(in_warp), "")), Fault::race, "what thread");
  check_fault(found_in(fmt::format(fmt::runtime(in_warp), "shuffle_xor(t, 1);")), Fault::race,
              "reads what thread");

  // The one that must stand between the last read and the next round's write.
  const std::string rounds =
      "__shared__ f32 a[256]; f32 x = in0[t]; for (int k = 0; k < 3; ++k) {{ a[t] = x; sync_block(); x = a[t "
      "^ 64]; {} "
      "}} out0[t] = x;";
  CHECK(found_in(fmt::format(fmt::runtime(rounds), "sync_block();")).message == "");
  check_fault(found_in(fmt::format(fmt::runtime(rounds), "")), Fault::race, "of a");

  // One lane reads late what another overwrites.
  check_fault(found_in("__shared__ f32 a[8]; if (t == 0) a[0] = in0[0]; sync_block(); out0[t] = a[0]; "
                       "if (t == 77) a[0] = 2.0f;"),
              Fault::race, "at 0 of a");
}

TEST_CASE("two blocks that write to one place, or pass something on, are found") {
  CHECK(found_in("out0[(int)blockIdx.x * 32 + t] = 1.0f;", {64, 2, 32}).message == "");
  check_fault(found_in("out0[t] = 1.0f;", {32, 2, 32}), Fault::race, "what block");
  check_fault(found_in("if (blockIdx.x == 0) out0[t] = 1.0f; else out0[32 + t] = out0[t];", {64, 2, 32}),
              Fault::race, "reads what block 0 has written");
}

TEST_CASE("a divergent barrier is found") {
  check_fault(found_in("if (t >= 100) return; sync_block(); out0[t] = 1.0f;"), Fault::divergence,
              "threads 100 to 255 have ended");
  check_fault(found_in("if (t < 128) sync_block(); out0[t] = 1.0f;"), Fault::divergence,
              "threads 0 to 127 wait for the block at line");
  check_fault(found_in("if (t < 128)\n sync_block();\nelse\n sync_block();\nout0[t] = 1.0f;"),
              Fault::divergence, "threads 128 to 255 wait for the block at line");
  check_fault(found_in("for (int i = 0; i < 1 + t / 128; ++i) sync_block(); out0[t] = 1.0f;"),
              Fault::divergence, "threads 0 to 127 have ended");
}

TEST_CASE("a step over the end of a shared array is found") {
  const std::string two = "__shared__ f32 a[64]; __shared__ f32 b[64]; {} sync_block(); out0[t] = 1.0f;";
  CHECK(found_in(fmt::format(fmt::runtime(two), "a[t % 64 ] = b[t % 64] = 1.0f;"), {64, 1, 64}).message ==
        "");
  check_fault(found_in(fmt::format(fmt::runtime(two), "a[t] = 1.0f;")), Fault::undefined,
              "thread 64: an index is outside of its array");
  check_fault(found_in(fmt::format(fmt::runtime(two), "f32* to = t < 0 ? b : a; to[t] = 1.0f;")),
              Fault::out_of_range,
              "thread 64: writes 4 bytes at 0 bytes past the end of a, which has 256 bytes");
}

TEST_CASE("a misaligned vector is found") {
  const std::string copy = "*(vec<f32, 4>*)(out0 + t * 4) = *(const vec<f32, 4>*)(in0 + {});";
  CHECK(found_in(fmt::format(fmt::runtime(copy), "t * 4"), {256, 1, 64}).message == "");
  check_fault(found_in(fmt::format(fmt::runtime(copy), "(t == 63 ? t * 4 - 2 : t * 4)"), {256, 1, 64}),
              Fault::misaligned,
              "thread 63: an access needs an address that 16 divides; this one is 8 bytes beyond");
}

TEST_CASE("a shuffle that not all lanes take part in is found") {
  CHECK(found_in("out0[t] = shuffle_xor(in0[t], 16) + shuffle_down(in0[t], 3) + shuffle_from(in0[t], 31);")
            .message == "");
  check_fault(
      found_in("if (t % 32 >= 20) return; out0[t] = shuffle_xor(in0[t], 1) + shuffle_xor(in0[t], 16);"),
      Fault::absent_lane, "thread 4: a shuffle reads from lane 20 of its warp, which has left the kernel");
  check_fault(found_in("out0[t] = shuffle_xor(in0[t], 16);", {48, 1, 48}), Fault::absent_lane,
              "which is not there");
  check_fault(
      found_in("f32 x = in0[t];\nif (t % 32 < 16) x = shuffle_xor(x, 1);\nsync_block();\nout0[t] = x;"),
      Fault::divergence, "threads 0 to 15 wait at a shuffle");
  check_fault(
      found_in(
          "f32 x = in0[t];\nif (t % 2)\nx = shuffle_xor(x, 1);\nelse\nx = shuffle_xor(x, 1);\nout0[t] = x;"),
      Fault::divergence, "threads that must meet do not");
}

TEST_CASE("what was never written is found") {
  check_fault(found_in("__shared__ f32 a[256]; if (t != 7) a[t] = in0[t]; sync_block(); out0[t] = a[t];"),
              Fault::uninitialised, "thread 7: reads at 28 of a, which nothing has written");
  check_fault(found_in("out0[t] = out0[t] + 1.0f;"), Fault::uninitialised, "at 0 of out0");
  const Found gap = found_in("if (t != 7) out0[t] = in0[t];");
  CHECK(gap.fault == Fault::depends_on_order);
  CHECK_THAT(gap.message, ContainsSubstring("byte 28 of out0"));
}

TEST_CASE("undefined arithmetic is found") {
  check_fault(found_in("out0[t] = (f32)(int)(in0[t] * 1e10f);"), Fault::undefined,
              "converted to a whole number that cannot hold it");
  check_fault(found_in("out0[t] = (f32)(1 << t);"), Fault::undefined, "thread 32: a shift");
  check_fault(
      found_in("f32 r[4]; for (int k = 0; k < 4 + t / 255; ++k) r[k % 8] = in0[k]; out0[t] = r[t % 4];"),
      Fault::undefined, "an index is outside of its array");
}

TEST_CASE("an overflow of a 32-bit index is found, in the blocks of a huge grid that are run") {
  const std::int64_t n = (std::int64_t{1} << 31) + 4096;
  const std::string body =
      "const index e = (index)blockIdx.x * 256 + (index)threadIdx.x;\n  if (e < {}) out0[e] = (f32)(e & "
      "1023);";
  check_fault(found_in(fmt::format(fmt::runtime(body), "0x7fffffff"), {n, n / 256}), Fault::undefined,
              "a product overflows");
  const Planted planted(fmt::format(fmt::runtime(body), "n"), {.n = n, .blocks = n / 256, .index = "int64"});
  run_launch(planted.launch());
  for (std::int64_t e : {std::int64_t{0}, std::int64_t{511}, n / 256 / 2 * 256, n - 512, n - 1})
    CHECK(planted.out()[e] == static_cast<float>(e & 1023));
  CHECK(planted.out()[512] == 0);
}

TEST_CASE("lanes exchange what they should") {
  const Planted planted(
      "out0[t] = shuffle_xor(in0[t], 5); out0[64 + t] = shuffle_down(in0[t], 30); out0[128 + t] = "
      "shuffle_from(in0[t], 9); out0[192 + t] = shuffle_xor(t % 3 == 0, 1) ? 1.0f : 0.0f;",
      {256, 1, 64});
  run_launch(planted.launch());
  for (int t = 0; t < 64; ++t) {
    CHECK(planted.out()[t] == static_cast<float>(t ^ 5));
    CHECK(planted.out()[64 + t] == static_cast<float>(t % 32 < 2 ? t + 30 : t));
    CHECK(planted.out()[128 + t] == static_cast<float>(t / 32 * 32 + 9));
    CHECK(planted.out()[192 + t] == static_cast<float>((t ^ 1) % 3 == 0));
  }
}

TEST_CASE("launches that write an output together must write every element once") {
  // Launches of 64 elements each, from these on, into one output of 256.
  const auto fault_of = [](std::initializer_list<int> begins) {
    const Planted first("out0[t] = in0[t];", {256, 1, 64});
    Region out = first.launch().buffers[1];
    Coverage coverage(out.data, out.bytes, 4);
    out.coverage = &coverage;
    try {
      for (int begin : begins) {
        const Planted planted(fmt::format("out0[{0} + t] = in0[{0} + t];", begin), {256, 1, 64});
        Launch launch = planted.launch();
        std::vector<std::byte> params(launch.params.begin(), launch.params.end());
        std::memcpy(params.data() + sizeof(void*), &out.data, sizeof(void*));
        launch.params = params;
        launch.buffers[1] = out;
        run_launch(launch);
      }
      for (int i = 0; i < 256; ++i)  // what a launch has written the later ones leave
        if (coverage.first_missing() < 0 && first.out()[i] != static_cast<float>(i)) return "out0 is wrong"s;
    } catch (const KernelFault& fault) {
      return fault.fault == Fault::coverage ? std::string(fault.what()) : "another fault";
    }
    return fmt::format("missing {}", coverage.first_missing());
  };
  CHECK(fault_of({0, 64, 128, 192}) == "missing -1");
  CHECK(fault_of({192, 64, 0, 128}) == "missing -1");
  CHECK(fault_of({0, 64, 192}) == "missing 128");
  CHECK(fault_of({64, 128, 192}) == "missing 0");
  CHECK(fault_of({0, 64, 127, 192}).find("writes at 508 of out0 a second time") != std::string::npos);
  CHECK(fault_of({0, 32}).find("a second time") != std::string::npos);
}
