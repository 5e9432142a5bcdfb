// Faults planted in kernels whose blocks work together, or with copies that run beside their threads: folds
// by the last block, clusters, dynamic shared memory, bulk copies. Beside each the kernel as it should be.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/cuda_on_cpu/planted.h"

using namespace sinter;
using namespace sinter::testing::cuda_on_cpu;

namespace {

std::string with(const std::string& pattern, const std::string& part) {
  return fmt::format(fmt::runtime(pattern), part);
}

}  // namespace

TEST_CASE("the last block reads what the others have written") {
  // Sums of 8 blocks, in one order of adding whichever is last.
  const std::string body =
      "const int b = (int)blockIdx.x;\n"
      "part[b * 32 + t] = in0[b * 32 + t] * 0.1f;\n"
      "if (arrive_last(counters + 3, gridDim.x)) {\n"
      "  f32 sum = 0;\n"
      "  for (int i = 0; i < 8; ++i) sum += part[i * 32 + (t ^ 1)];\n"
      "  for (int i = 0; i < 8; ++i) out0[i * 32 + t] = sum;\n"
      "}";
  const Planted planted(body, {256, 8, 32});
  run_launch(planted.launch());
  for (int t = 0; t < 32; ++t) {
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += static_cast<float>(i * 32 + (t ^ 1)) * 0.1f;
    CHECK(planted.out()[t] == sum);
  }
  // Two rounds: four counters of two blocks each, then one of the four that were last.
  CHECK(
      found_in("const int b = (int)blockIdx.x; part[b * 32 + t] = 1.0f;\n"
               "if (!arrive_last(counters + b / 2, 2)) return;\n"
               "part[b / 2 * 64 + t] = part[b / 2 * 64 + t] + part[b / 2 * 64 + 32 + t];\n"
               "if (!arrive_last(counters + 8, 4)) return;\n"
               "for (int i = 0; i < 8; ++i) out0[i * 32 + t] = part[t] + part[64 + t] + part[128 + (t ^ 7)];",
               {256, 8, 32})
          .message == "");
}

TEST_CASE("a fold that does not wait for the others is found") {
  const std::string body =
      "const int b = (int)blockIdx.x;\npart[b * 32 + t] = 1.0f;\n{}\n"
      "f32 sum = 0;\nfor (int i = 0; i < 8; ++i) sum += part[i * 32 + t];\nout0[b * 32 + t] = sum;";
  check_fault(found_in(with(body, ""), {256, 8, 32}), Fault::uninitialised, "which nothing has written");
  check_fault(found_in(with(body, "if (b != 7) return;"), {256, 8, 32}), Fault::race,
              "reads what block 0 has written");
  // The arrival before the write.
  check_fault(found_in("const int b = (int)blockIdx.x;\nconst bool last = arrive_last(counters, 8);\n"
                       "part[b * 32 + t] = 1.0f;\nif (!last) return;\nf32 sum = 0;\n"
                       "for (int i = 0; i < 8; ++i) sum += part[i * 32 + t];\nout0[t] = sum;",
                       {256, 8, 32}),
              Fault::race, "sum += part[i * 32 + t]");
  // One too early: its sum has what that of another block has not.
  check_fault(found_in(with(body, "if (!arrive_last(counters, 7)) return;"), {256, 8, 32}),
              Fault::uninitialised, "which nothing has written");
  // What is added in the order in which blocks come.
  check_fault(found_in("const int b = (int)blockIdx.x;\nconst bool last = arrive_last(counters, 8);\n"
                       "if (last) for (int i = 0; i < 8; ++i) out0[i * 32 + t] = (f32)b;",
                       {256, 8, 32}),
              Fault::depends_on_order, "byte");
}

TEST_CASE("counters that the next launch finds other than 0, and blocks that disagree, are found") {
  const std::string body = "out0[(int)blockIdx.x * 32 + t] = 1.0f;\n{}";
  check_fault(found_in(with(body, "arrive_last(counters + 1, 9);"), {256, 8, 32}), Fault::counter,
              "the counter at 4 of counters is 8, not 0");
  check_fault(found_in(with(body, "if (blockIdx.x != 5) arrive_last(counters, 8);"), {256, 8, 32}),
              Fault::counter, "is 7, not 0");
  check_fault(found_in(with(body, "arrive_last(counters, 8 + blockIdx.x % 2);"), {256, 8, 32}),
              Fault::counter, "where others arrive as one of");
  check_fault(found_in(with(body, "arrive_last(counters, 8); arrive_last(counters, 8);"), {256, 8, 32}),
              Fault::counter, "a second time");
  check_fault(found_in(with(body, "if (t == 0) counters[0] = 0;"), {256, 8, 32}), Fault::counter,
              "touches counters, which only arrive_last() and messages may");
  check_fault(found_in(with(body, "arrive_last((uint32*)out0, 8);"), {256, 8, 32}), Fault::counter,
              "no counter");
  check_fault(found_in(with(body, "if (t < 16)\n arrive_last(counters, 8);"), {256, 8, 32}),
              Fault::divergence, "threads 0 to 15 arrive at a counter, line");
}

TEST_CASE("dynamic shared memory is as long as the launch says") {
  const std::string body =
      "f32* a = dynamic_shared<f32>(); f32* b = dynamic_shared<f32>(512);\n"
      "a[t] = in0[t]; {} = 1.0f;\nsync_block();\nout0[t] = a[127 - t] + b[t];";
  const Shape shape{.n = 128, .threads = 128, .shared_bytes = 1024};
  CHECK(found_in(with(body, "b[t]"), shape).message == "");
  check_fault(
      found_in(with(body, "b[t + 1]"), shape), Fault::out_of_range,
      "thread 127: writes 4 bytes at 0 bytes past the end of the dynamic shared memory, which has 1024");
  check_fault(found_in(with(body, "a[t - 1]"), shape), Fault::out_of_range,
              "before the start of the dynamic");
  check_fault(found_in("dynamic_shared<f32>()[t] = 1.0f; out0[t] = 1.0f;"), Fault::out_of_range,
              "past the end of the dynamic shared memory, which has 0 bytes");
  check_fault(found_in("f32* a = dynamic_shared<f32>(); a[t] = in0[t]; out0[t] = a[127 - t];", shape),
              Fault::race, "with no barrier in between");
  check_fault(
      found_in("f32* a = dynamic_shared<f32>(); if (t != 9) a[t] = in0[t]; sync_block(); out0[t] = a[t];",
               shape),
      Fault::uninitialised, "at 36 of the dynamic shared memory");
}

TEST_CASE("blocks of a cluster exchange what they should") {
  // Every block gets one number of each; one kernel with a static and one with a dynamic array.
  const std::string body =
      "{}\nconst int rank = cluster_rank();\ncluster_arrive();\ncluster_wait();\n"
      "if (t < 4) store_to_block(&got[rank], t, in0[blockIdx.x * 64 + t]);\n"
      "cluster_arrive();\ncluster_wait();\n"
      "out0[(int)blockIdx.x * 64 + t] = got[t % 4];";
  for (const char* array : {"__shared__ f32 got[4];", "f32* got = dynamic_shared<f32>(16);"}) {
    const Planted planted(with(body, array),
                          {.n = 512, .blocks = 8, .threads = 64, .cluster = 4, .shared_bytes = 32});
    run_launch(planted.launch());
    for (int b = 0; b < 8; ++b)
      for (int t = 0; t < 64; ++t)
        CHECK(planted.out()[b * 64 + t] == static_cast<float>((b / 4 * 4 + t % 4) * 64 + b % 4));
  }
  // Narrow and wide values.
  CHECK(found_in(
            "__shared__ f64 a; __shared__ bf16 b; __shared__ int8 c;\nconst int other = 1 - cluster_rank();\n"
            "cluster_arrive(); cluster_wait();\n"
            "if (t == 0) { store_to_block(&a, other, 0.5); store_to_block(&b, other, to_bf16(2.0f)); "
            "store_to_block(&c, other, (int8)-3); }\n"
            "cluster_arrive(); cluster_wait();\n"
            "if (a == 0.5 && to_f32(b) == 2.0f && c == -3) out0[(int)blockIdx.x * 128 + t] = 1.0f;",
            {.n = 256, .blocks = 2, .threads = 128, .cluster = 2})
            .message == "");
}

TEST_CASE("the largest cluster folds a row that its blocks have brought by bulk copies") {
  constexpr int blocks = 16, threads = 1024, part = 4096;
  const std::string body =
      "__shared__ bulk_barrier bar; __shared__ int64 sums[32]; __shared__ int64 got[16];\n"
      "f32* row = dynamic_shared<f32>(); const int rank = cluster_rank();\ncluster_arrive();\n"
      "if (t == 0) { bulk_init(&bar); bulk_load(row, in0 + rank * 4096, 16384, &bar); }\n"
      "sync_block(); bulk_wait(&bar, 0);\nint64 sum = 0;\n"
      "const vec<f32, 4> x = load_vec<4, 4>(row + t * 4);\n"
      "for (int k = 0; k < 4; ++k) sum += (int64)x.at[k];\n"
      "for (int half = 16; half != 0; half /= 2) sum += shuffle_xor(sum, half);\n"
      "if (t % 32 == 0) sums[t / 32] = sum;\nsync_block();\nsum = 0;\n"
      "for (int w = 0; w < 32; ++w) sum += sums[w];\ncluster_wait();\n"
      "if (t < 16) store_to_block(&got[rank], t, sum);\ncluster_arrive(); cluster_wait();\nsum = 0;\n"
      "for (int b = 0; b < 16; ++b) sum += got[b];\n"
      "vec<f32, 4> y; for (int k = 0; k < 4; ++k) y.at[k] = (f32)(sum / 4096 + (int64)x.at[k]);\n"
      "store_vec<4>(out0 + rank * 4096 + t * 4, y);";
  const Planted planted(body, {.n = blocks * part,
                               .blocks = blocks,
                               .threads = threads,
                               .cluster = blocks,
                               .shared_bytes = part * 4});
  run_launch(planted.launch());
  constexpr std::int64_t n = blocks * part, sum = n * (n - 1) / 2;
  for (std::int64_t i = 0; i < n; i += 101) CHECK(planted.out()[i] == static_cast<float>(sum / 4096 + i));
}

TEST_CASE("a store into another block without the waits around it is found") {
  const std::string body =
      "__shared__ f32 got[2];\nconst int rank = cluster_rank();\nif (t < 2) got[t] = "
      "0.0f;\nsync_block();\n{}\n"
      "out0[(int)blockIdx.x * 32 + t] = {};";
  const Shape shape{.n = 64, .blocks = 2, .threads = 32, .cluster = 2};
  const auto found = [&](const std::string& exchange, const std::string& result = "got[1 - rank]") {
    return found_in(fmt::format(fmt::runtime(body), exchange, result), shape);
  };
  const std::string store = "if (t == 0) store_to_block(&got[rank], 1 - rank, in0[rank]);\n";
  const std::string arrive = "cluster_arrive();\n", wait = "cluster_wait();\n";
  CHECK(found(arrive + wait + store + arrive + wait).message == "");
  check_fault(
      found(store + arrive + wait), Fault::absent_block,
      "stores into block 1, which may not have started: no wait for the cluster comes before\n  line");
  check_fault(found(arrive + store + wait), Fault::absent_block, "may not have started");
  check_fault(found(arrive + wait + store, "1.0f"), Fault::absent_block,
              "block 1, thread 0: stores into block 0, which may have ended: nothing that it waits for comes "
              "after\n  line");
  check_fault(found(arrive + wait + store + arrive, "1.0f"), Fault::absent_block, "may have ended");
  check_fault(found(arrive + wait + "if (rank == 0) {\n" + store + "}\n" + arrive + wait +
                        "if (rank == 1) {\n" + store + "}",
                    "1.0f"),
              Fault::absent_block, "block 1, thread 0: stores into block 0, which may have ended");
  // What it brings is read too early.
  check_fault(found(arrive + wait + store + "f32 x = got[1 - rank];\n" + arrive + wait, "x"), Fault::race,
              "what thread 0 of block");
  check_fault(found(arrive + wait + store + arrive + "f32 x = got[1 - rank];\n" + wait, "x"), Fault::race,
              "what thread 0 of block");
  // Between the last read and the next store there is no barrier.
  check_fault(
      found(arrive + wait + store + arrive + wait + "f32 x = got[1 - rank];\n" + store + arrive + wait, "x"),
      Fault::race, "what thread 0 of block");
  CHECK(found(arrive + wait + store + arrive + wait + "f32 x = got[1 - rank];\n" + arrive + wait + store +
                  arrive + wait,
              "x + got[1 - rank]")
            .message == "");
}

TEST_CASE("a wrong use of the cluster's barrier or of another block's memory is found") {
  const Shape shape{.n = 128, .blocks = 2, .threads = 64, .cluster = 2};
  const auto found = [&](const std::string& body) {
    return found_in("const int rank = cluster_rank();\n__shared__ f32 a[4];\n" + body +
                        "\nout0[(int)blockIdx.x * 64 + t] = 1.0f;",
                    shape);
  };
  check_fault(found("cluster_wait();"), Fault::divergence, "waits for the cluster without having arrived");
  check_fault(found("cluster_arrive();\ncluster_arrive();"), Fault::divergence,
              "arrives for the cluster again");
  check_fault(found("if (rank == 0) return;\ncluster_arrive();\ncluster_wait();"), Fault::divergence,
              "threads 0 to 63 wait for the cluster at line");
  check_fault(found("if (t % 32 < 5)\n cluster_arrive();\nsync_warp();"), Fault::divergence,
              "threads 0 to 4 arrive for the cluster at line");
  check_fault(
      found("cluster_arrive();\nif (rank == 0)\n cluster_wait();\nelse\n sync_block();\nif (t < 40)\n "
            "sync_block();\ncluster_arrive();\ncluster_wait();"),
      Fault::divergence, "block 1:");
  const std::string start = "cluster_arrive(); cluster_wait();\nif (t == 0) ",
                    end = "\ncluster_arrive(); cluster_wait();";
  CHECK(found(start + "store_to_block(&a[3], 1 - rank, 1.0f);" + end).message == "");
  check_fault(found(start + "store_to_block(a + 4, 1 - rank, 1.0f);" + end), Fault::out_of_range,
              "past the end of a");
  check_fault(found(start + "store_to_block(out0, 1 - rank, 1.0f);" + end), Fault::out_of_range,
              "through out0, which is not shared memory");
  check_fault(found(start + "store_to_block(&a[0], 2, 1.0f);" + end), Fault::absent_block,
              "stores into block 2 of a cluster of 2");
  check_fault(found(start + "store_to_block((f64*)(a + 1), 1 - rank, 1.0);" + end), Fault::misaligned,
              "this one is 4 bytes beyond");
}

TEST_CASE("blocks of a cluster pass on global memory, too") {
  const Shape shape{.n = 64, .blocks = 2, .threads = 32, .cluster = 2};
  const std::string body =
      "const int b = (int)blockIdx.x;\nout0[b * 32 + t] = 1.0f;\n{}\npart[b * 32 + t] = out0[(1 - b) * 32 + "
      "t];";
  CHECK(found_in(with(body, "cluster_arrive(); cluster_wait();"), shape).message == "");
  check_fault(found_in(with(body, "sync_block();\nif (b == 1)"), shape), Fault::race,
              "reads what thread 0 of block 0 has written, with no barrier in between");
}

TEST_CASE("a bulk copy brings what it should") {
  const std::string body =
      "__shared__ bulk_barrier bars[2]; f32* a = dynamic_shared<f32>(); f32* b = a + 128;\n"
      "const f32* from = in0 + blockIdx.x * 256;\n"
      "if (t == 0) { for (int i = 0; i < 2; ++i) { bulk_init(&bars[i]); bulk_load(a + i * 128, from + i * "
      "128, 512, "
      "&bars[i]); } bulk_prefetch(in0, 1024); }\n"
      "sync_block();\nbulk_wait(&bars[0], 0);\nconst f32 x = a[127 - t];\nbulk_wait(&bars[1], 0);\n"
      "out0[blockIdx.x * 256 + t] = x; out0[blockIdx.x * 256 + 128 + t] = b[t ^ 1];";
  const Planted planted(body, {.n = 1024, .blocks = 4, .threads = 128, .shared_bytes = 1024});
  run_launch(planted.launch());
  for (int b = 0; b < 4; ++b)
    for (int t = 0; t < 128; ++t) {
      CHECK(planted.out()[b * 256 + t] == static_cast<float>(b * 256 + 127 - t));
      CHECK(planted.out()[b * 256 + 128 + t] == static_cast<float>(b * 256 + 128 + (t ^ 1)));
    }
  // One after the other to the same place.
  CHECK(found_in("__shared__ bulk_barrier bar; f32* a = dynamic_shared<f32>();\n"
                 "if (t == 0) bulk_init(&bar);\n"
                 "for (int k = 0; k < 4; ++k) {\n"
                 "  if (t == 0) bulk_load(a, in0 + k * 64, 256, &bar);\n"
                 "  if (k == 0) sync_block();\n"
                 "  bulk_wait(&bar, k % 2);\n  out0[k * 64 + t] = a[63 - t];\n  sync_block();\n}",
                 {.n = 256, .threads = 64, .shared_bytes = 256})
            .message == "");
}

TEST_CASE("a bulk copy at a wrong place is found") {
  const std::string body =
      "__shared__ bulk_barrier bar; f32* a = dynamic_shared<f32>();\n"
      "if (t == 0) {{ bulk_init(&bar);\nbulk_load({}, &bar);\n}}\n"
      "sync_block(); bulk_wait(&bar, 0); out0[t] = a[t];";
  const Shape shape{.n = 64, .threads = 64, .shared_bytes = 256};
  CHECK(found_in(with(body, "a, in0, 256"), shape).message == "");
  check_fault(found_in(with(body, "a, in0 + 4, 256"), shape), Fault::out_of_range,
              "thread 0: copies 256 bytes at 16, over the end of in0, which has 256 bytes");
  check_fault(found_in(with(body, "a + 4, in0, 256"), shape), Fault::out_of_range,
              "copies 256 bytes at 16, over the end of the dynamic shared memory");
  check_fault(found_in(with(body, "a, in0 + 1, 128"), shape), Fault::misaligned,
              "the source of a bulk copy is 4 beyond a multiple of 16\n  line");
  check_fault(found_in(with(body, "a + 2, in0, 128"), shape), Fault::misaligned, "the destination");
  check_fault(found_in(with(body, "a, in0, 132"), shape), Fault::misaligned, "the number of bytes");
  check_fault(found_in(with(body, "out0, in0, 256"), shape), Fault::out_of_range,
              "which is not shared memory");
  check_fault(found_in(with(body, "a, out0, 256"), shape), Fault::race, "which is not an input");
  check_fault(found_in("bulk_prefetch(in0 + 8, 256); out0[t] = 1.0f;", shape), Fault::out_of_range,
              "fetches 256 bytes at 32, over the end of in0");
  check_fault(found_in("bulk_prefetch(in0 + 1, 128); out0[t] = 1.0f;", shape), Fault::misaligned,
              "the source");
}

TEST_CASE("a read before a bulk copy has come is found") {
  const std::string body =
      "__shared__ bulk_barrier bar; f32* a = dynamic_shared<f32>();\n"
      "if (t == 0) {{ bulk_init(&bar); bulk_load(a, in0, 256, &bar); }}\n{}\nout0[t] = x;";
  const Shape shape{.n = 64, .threads = 64, .shared_bytes = 256};
  const auto found = [&](const std::string& use) { return found_in(with(body, use), shape); };
  CHECK(found("sync_block(); bulk_wait(&bar, 0); const f32 x = a[t];").message == "");
  CHECK(found("sync_block(); if (t < 32) bulk_wait(&bar, 0); sync_block(); const f32 x = a[t];").message ==
        "");
  check_fault(found("sync_block(); const f32 x = a[t]; bulk_wait(&bar, 0);"), Fault::in_flight,
              "reads what a bulk copy brings, before a wait for it");
  check_fault(found("sync_block(); bulk_wait(&bar, 1); const f32 x = a[t];"), Fault::in_flight,
              "before a wait");
  check_fault(found("sync_block(); if (t < 32) bulk_wait(&bar, 0); const f32 x = a[t];"), Fault::in_flight,
              "before a wait");
  check_fault(found("sync_block(); const f32 x = 1.0f;"), Fault::in_flight,
              "the block ends before a bulk copy");
  check_fault(found("sync_block(); a[t] = 2.0f; bulk_wait(&bar, 0); const f32 x = a[t];"), Fault::in_flight,
              "writes what a bulk copy brings");
  check_fault(found("bulk_wait(&bar, 0); const f32 x = a[t];"), Fault::race, "at 0 of bar");
}

TEST_CASE("a wait for a bulk copy that nothing starts is found") {
  const std::string body =
      "__shared__ bulk_barrier bar; f32* a = dynamic_shared<f32>();\n{}\nout0[t] = 1.0f;";
  const Shape shape{.n = 64, .threads = 64, .shared_bytes = 256};
  const auto found = [&](const std::string& use) { return found_in(with(body, use), shape); };
  check_fault(found("if (t == 0) bulk_init(&bar);\nsync_block();\nbulk_wait(&bar, 0);"), Fault::deadlock,
              "planted, block 0, thread 0: waits for a bulk copy that nothing starts\n  line");
  check_fault(found("if (t == 0) { bulk_init(&bar); bulk_load(a, in0, 256, &bar); }\nsync_block();\n"
                    "bulk_wait(&bar, 0);\nbulk_wait(&bar, 1);"),
              Fault::deadlock, "nothing starts\n  line");
  check_fault(found("if (t == 0) bulk_load(a, in0, 256, &bar);"), Fault::uninitialised, "of bar");
  check_fault(found("if (t == 0) { bulk_init(&bar); bulk_load(a, in0, 128, &bar); bulk_load(a + 32, in0, "
                    "128, &bar); }"),
              Fault::in_flight, "whose last one nothing has waited for");
  check_fault(
      found("a[t] = 1.0f; sync_block();\nif (t == 0) { bulk_init(&bar); bulk_load(a, in0, 256, &bar); }\n"
            "sync_block(); bulk_wait(&bar, 0);"),
      Fault::race, "a bulk copy overwrites what thread 0 has written");
  // The next copy comes before the last read of what was there.
  check_fault(found("if (t == 0) { bulk_init(&bar); bulk_load(a, in0, 256, &bar); }\nsync_block();\n"
                    "bulk_wait(&bar, 0); const f32 x = a[63 - t];\n"
                    "if (t == 63) bulk_load(a, in0, 256, &bar);\nbulk_wait(&bar, 1); out0[t] = x;"),
              Fault::race, "writes what thread");
}
