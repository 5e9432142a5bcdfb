// Which chooser takes a kernel, and what it decides.
#include "codegen/schedule.h"

#include <fmt/format.h>
#include <algorithm>

#include "codegen/team.h"
#include "ir/bind.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;

namespace {

const Target cpu = Target::cpu(), h100 = Target::cuda("sm_90a");

std::string scheduled(const Target& target, std::string_view inputs, std::string_view body,
                      const passes::InputStrides& strides = {}) {
  return schedule_of(kernel_of(inputs, body, strides), target).str();
}

/// Elements that a thread of a GPU takes at once.
int width(std::string_view inputs, std::string_view body, const passes::InputStrides& strides = {},
          int alignment = 64) {
  Kernel k = kernel_of(inputs, body, strides);
  k.buffers[0].alignment = alignment;
  return schedule_of(k, h100).vector;
}

/// Elements of one access to the first input, as the source has it; 1 where elements go one by one.
int access(std::string_view inputs, std::string_view body, const passes::InputStrides& strides = {},
           int alignment = 64) {
  Kernel k = kernel_of(inputs, body, strides);
  k.buffers[0].alignment = alignment;
  const std::string text = source_of(k, h100).text;
  const std::string call = " = load_vec<";
  const std::size_t at = text.find(call);
  return at == text.npos ? 1 : std::stoi(text.substr(at + call.size()));
}

bool wide_index(std::string_view inputs, std::string_view body, const passes::InputStrides& strides = {}) {
  return schedule_of(kernel_of(inputs, body, strides), h100).wide_index;
}

}  // namespace

TEST_CASE("on the CPU memory's direction chooses the schedule") {
  CHECK(scheduled(cpu, "%x: f32[M, 64])", "return neg(%x)") == "pointwise: i0: thread, vector");
  CHECK(scheduled(cpu, "%x: f32[M, 64], %b: f32[64])", "return add(%x, %b)") ==
        "pointwise: i0: thread; i1: vector");
  CHECK(scheduled(cpu, "%x: f32[M, N])", "return sum(%x, axes=[1])") == "row: i0: thread; i1: loop, vector");
  CHECK(scheduled(cpu, "%x: f32[M, 64])", "return sum(%x, axes=[0])") ==
        "column: i0: loop; i1: thread, vector 64");
  CHECK(scheduled(cpu, "%x: f32[4, 8, M, 64])", "return sum(%x, axes=[1, 3])") ==
        "row: i0: thread; i1: loop; i2: thread; i3: loop, vector");
  CHECK(scheduled(cpu, "%x: f32[4, 8, M, 64])", "return sum(%x, axes=[0, 2])") ==
        "column: i0: loop; i1: thread; i2: loop; i3: thread, vector 64");
}

TEST_CASE("an innermost axis is taken whole, or in pieces where it is long or of unknown length") {
  const char* const body = "return add(%x, %b)";
  CHECK(scheduled(cpu, "%x: f32[M, 8192], %b: f32[8192])", body) == "pointwise: i0: thread; i1: vector");
  CHECK(scheduled(cpu, "%x: f32[M, 8193], %b: f32[8193])", body) ==
        "pointwise: i0: thread; i1: thread 8192, vector");
  CHECK(scheduled(cpu, "%x: f32[M, N], %b: f32[N])", body) ==
        "pointwise: i0: thread; i1: thread 8192, vector");
}

TEST_CASE("a tensor whose memory runs across the innermost axis is read in tiles") {
  CHECK(scheduled(cpu, "%x: f32[M, N], %y: f32[N, M])", "return add(%x, permute_dims(%y, axes=[1, 0]))") ==
        "pointwise: i0: thread, loop 64; i1: thread, vector 16");
  CHECK(scheduled(cpu, "%x: f32[4, 8, 16, 32])", "return neg(permute_dims(%x, axes=[0, 2, 3, 1]))") ==
        "pointwise: i0: thread; i1: thread, loop 64; i2: thread, vector 16");
  CHECK(scheduled(cpu, "%x: f32[M, 63])", "return neg(slice(%x, ranges=[:, ::2]))") ==
        "pointwise: i0: thread; i1: vector");
}

TEST_CASE("short rows are walked side by side where there are enough") {
  const char* const beside = "short rows: i0: thread, vector 64; i1: loop";
  const char* const body = "return sum(%x, axes=[1])";
  CHECK(scheduled(cpu, "%x: f32[M, 2])", body) == beside);
  CHECK(scheduled(cpu, "%x: f32[64, 39])", body) == beside);
  CHECK(scheduled(cpu, "%x: f32[63, 39])", body).starts_with("row"));
  CHECK(scheduled(cpu, "%x: f32[M, 40])", body).starts_with("row"));
  CHECK(scheduled(cpu, "%x: f32[M, N])", body).starts_with("row"));
  CHECK(scheduled(cpu, "%x: f32[M, 60])", body, {{120, 2}}) == beside);
}

TEST_CASE("a tensor narrower than a vector, or with gaps between its elements, has the plain schedule") {
  CHECK(scheduled(cpu, "%x: f32[M, 7])", "return sum(%x, axes=[0])").starts_with("plain"));
  CHECK(scheduled(cpu, "%x: f32[M, 8])", "return sum(%x, axes=[0])").starts_with("column"));
  CHECK(scheduled(cpu, "%x: f32[M, 64])", "return sum(%x, axes=[1])", {{128, 2}}).starts_with("plain"));
  CHECK(scheduled(cpu, "%x: f32[M, 64])", "return sum(%x, axes=[1])", {{1, 64}}).starts_with("plain"));
}

TEST_CASE("few long rows are taken in pieces") {
  const char* const pieces = "row: i0: thread; i1: thread 65536, loop, vector";
  const char* const whole = "row: i0: thread; i1: loop, vector";
  const char* const body = "return sum(%x, axes=[1])";
  CHECK(scheduled(cpu, "%x: f32[64, 131072])", body) == pieces);
  CHECK(scheduled(cpu, "%x: f32[65, 131072])", body) == whole);
  CHECK(scheduled(cpu, "%x: f32[64, 131071])", body) == whole);
  CHECK(scheduled(cpu, "%x: f32[M, 131072])", body) == whole);
  CHECK(scheduled(cpu, "%x: f32[131072])", "return sum(%x)") == "row: i0: thread 65536, loop, vector");
}

TEST_CASE("the next row is fetched ahead where rows fit the cache") {
  const char* const ahead = "row: i0: thread; i1: loop, vector; next row fetched ahead";
  CHECK(scheduled(cpu, "%x: f32[M, 16384])", "return sum(%x, axes=[1])") == ahead);
  CHECK(scheduled(cpu, "%x: f32[M, 16385])", "return sum(%x, axes=[1])") ==
        "row: i0: thread; i1: loop, vector");
}

TEST_CASE("what is dear is kept in working memory, what is cheap is computed again") {
  CHECK(scheduled(cpu, "%x: f32[M, 64])", "%e = exp(%x)\n  return div(%e, sum(%e, axes=[1], keepdims=true))")
            .ends_with(" in working memory"));
  CHECK_FALSE(
      scheduled(cpu, "%x: f32[M, 64])", "%e = neg(%x)\n  return sub(%e, sum(%e, axes=[1], keepdims=true))")
          .ends_with("memory"));
}

TEST_CASE("on a GPU teams of threads take rows, and threads neighbouring vectors") {
  CHECK(scheduled(h100, "%x: f32[M, 64])", "return neg(%x)") == "pointwise: i0: grid, block 256, vector 4");
  // Short rows: some lanes of a warp each; longer ones a warp, then a block; 64 bytes a thread, then more
  // threads. A row that no registers hold is walked in a loop.
  const auto rows = [](const std::string& shape) {
    return scheduled(h100, "%x: " + shape + ")", "return sum(%x, axes=[1])");
  };
  CHECK(rows("f32[M, 64]") == "team rows: i0: grid, block 16; i1: loop 2, lane 8, vector 4");
  CHECK(rows("f32[M, 3]") == "team rows: i0: grid, block 32; i1: loop 1, lane 4");
  CHECK(rows("bf16[M, 128]") == "team rows: i0: grid, block 16; i1: loop 2, lane 8, vector 8");
  CHECK(rows("f32[M, 256]") == "team rows: i0: grid, block 4; i1: loop 2, lane 32, vector 4");
  CHECK(rows("f32[M, 512]") == "team rows: i0: grid, block 4; i1: loop 4, lane 32, vector 4");
  // Rows that begin anywhere in the vectors, of lanes enough for what is in none; where these do not pay.
  CHECK(rows("f32[M, 99]") == "team rows: i0: grid, block 16; i1: loop 3, lane 8, vector 4; skewed");
  CHECK(rows("f32[M, 63]") == "team rows: i0: grid, block 4; i1: loop 2, lane 32");
  // A team has as many warps as leave the fewest places empty.
  CHECK(rows("f32[M, 4097]") == "team rows: i0: grid; i1: loop 4, warp 8, lane 32, vector 4; skewed");
  CHECK(rows("bf16[M, 5000]") == "team rows: i0: grid; i1: loop 4, warp 5, lane 32, vector 8");
  CHECK(rows("f32[M, 4096]") == "team rows: i0: grid; i1: loop 4, warp 8, lane 32, vector 4");
  CHECK(rows("bf16[M, 4096]") == "team rows: i0: grid; i1: loop 4, warp 4, lane 32, vector 8");
  CHECK(rows("f32[M, 16380]") == "team rows: i0: grid; i1: loop 4, warp 32, lane 32, vector 4");
  CHECK(rows("f32[M, 65536]") == "team rows: i0: grid; i1: loop, loop 4, warp 16, lane 32, vector 4");
  CHECK(rows("f32[M, N]") == "team rows: i0: grid; i1: loop, loop 4, warp 16, lane 32");
  // Of rows whose elements are stored 16 a thread.
  const auto stored = [](const std::string& shape) {
    return scheduled(h100, "%x: " + shape + ")", "return sub(%x, sum(%x, axes=[1], keepdims=true))");
  };
  CHECK(stored("f32[M, 512]").starts_with("team rows: i0: grid; i1: loop 2, warp 2, lane 32, vector 4"));
  CHECK(stored("bf16[M, 4096]").starts_with("team rows: i0: grid; i1: loop 2, warp 8, lane 32, vector 8"));
  CHECK(stored("f32[M, 4096]").starts_with("team rows: i0: grid; i1: loop 4, warp 8, lane 32, vector 4"));
}

TEST_CASE("on a GPU lanes take vectors of neighbouring columns, and blocks share long ones") {
  const auto columns = [](const std::string& shape) {
    return scheduled(h100, "%x: " + shape + ")", "return sum(%x, axes=[0])");
  };
  CHECK(columns("f32[65536, 4096]") ==
        "team columns: i0: grid 16, loop, loop 8, warp 16; i1: grid, lane 32, vector 4");
  CHECK(columns("f32[M, 4096]") == "team columns: i0: loop, loop 8, warp 16; i1: grid, lane 32, vector 4");
  // Few columns: a warp spans several elements of each.
  CHECK(columns("f32[16777216, 8]") ==
        "team columns: i0: grid 525, loop, loop 8, warp 16, lane 16; i1: grid, lane 2, vector 4");
  CHECK(columns("f32[16777216, 3]").ends_with("loop, loop 16, warp 16, lane 8; i1: grid, lane 4"));
  // One tile of them is cut, so that no last block has very much to join.
  CHECK(columns("bf16[200704, 256]") ==
        "team columns: i0: grid 131, loop, loop 8, warp 16, lane 4; i1: grid, lane 8, vector 8");
  // Short ones: a block spans more columns.
  CHECK(columns("f32[16, 65536]") == "team columns: i0: loop 8, warp 2; i1: grid, warp 4, lane 32, vector 4");
}

TEST_CASE("on a GPU blocks share long rows where there are few") {
  const auto rows = [](const std::string& shape, const char* body = "return sum(%x, axes=[1])") {
    return scheduled(h100, "%x: " + shape + ")", body);
  };
  CHECK(rows("f32[8, 33554432]") ==
        "split rows: i0: grid; i1: grid 528, loop, loop 4, warp 16, lane 32, vector 4");
  CHECK(rows("bf16[1, 268435456]").starts_with("split rows: i0: grid 4212, loop, loop 4"));
  CHECK(rows("f32[8, 8192]").starts_with("team rows"));
  CHECK(rows("f32[100000, 65536]").starts_with("team rows"));
  CHECK(rows("f32[M, 33554432]").starts_with("team rows"));
  CHECK(
      rows("f32[8, 33554432]", "return sub(%x, max(%x, axes=[1], keepdims=true))").starts_with("team rows"));
  CHECK(scheduled(h100, "%x: f32[64, 256, 3136])", "return sum(%x, axes=[0, 2])")
            .starts_with("split rows: i0: loop; i1: grid; i2: grid 12, loop"));
  Kernel strict = kernel_of("%x: f32[8, 33554432])", "return sum(%x, axes=[1])");
  strict.fixed_fold_order = true;
  CHECK(schedule_of(strict, h100).chooser == "team rows");
}

TEST_CASE("pieces of a row cover it, and none is empty") {
  for (std::int64_t length : {1, 127, 128, 129, 5000, 1000003})
    for (std::int64_t wanted : {1, 2, 7, 500}) {
      const int pieces = pieces_for(length, wanted, 128);
      const std::int64_t piece = piece_length(length, pieces, 128);
      CHECK(pieces <= wanted);
      CHECK(piece % 128 == 0);
      CHECK(piece * pieces >= length);
      CHECK(piece * (pieces - 1) < length);
    }
}

TEST_CASE("a row that is walked again stays in registers, in the shorter form") {
  const char* const softmax =
      "%e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n  return div(%e, sum(%e, axes=[1], "
      "keepdims=true))";
  const auto kept = [&](const std::string& inputs, const std::string& body) {
    const std::string text = scheduled(h100, inputs, body);
    CHECK(text.starts_with("team rows"));
    return std::ranges::count(text, 'v') - 1;  // "vector", and a v for each value
  };
  CHECK(kept("%x: f32[M, 4096])", softmax) == 2);  // what is read and what exp gives
  CHECK(kept("%x: f32[M, 4096])", "return sum(%x, axes=[1])") == 0);
  // The sum of two tensors takes the room of one.
  CHECK(kept("%x: f32[M, 4096], %r: f32[M, 4096])",
             "%s = add(%x, %r)\n  return mul(%s, sum(%s, axes=[1], keepdims=true))") == 1);
}

TEST_CASE("a function's short form is kept where registers have room for it") {
  const char* const softmax =
      "%y = cast(%x, dtype=f32)\n  %e = exp(sub(%y, max(%y, axes=[1], keepdims=true)))\n  %s = div(%e, "
      "sum(%e, axes=[1], keepdims=true))\n  return cast(%s, dtype=bf16)";
  const auto kept = [&](const std::string& inputs) {
    Kernel k = kernel_of(inputs, softmax);
    for (KernelValue& v : k.values)
      if (v.kind == KernelValue::Kind::compute && v.op == ir::Op::exp) v.form = passes::MathForm::narrow;
    const std::string text = schedule_of(k, h100).str();
    CHECK(text.starts_with("team rows"));
    return std::ranges::count(text, 'v') - 1;
  };
  CHECK(kept("%x: bf16[M, 128])") == 2);
  CHECK(kept("%x: bf16[M, 8192])") == 2);
  CHECK(kept("%x: bf16[M, 1000])") == 2);
}

TEST_CASE("two tensors with rows of their own go to twice as many threads") {
  const char* const norm = "%s = add(%x, %r)\n  return mul(%s, sum(mul(%s, %s), axes=[1], keepdims=true))";
  CHECK(scheduled(h100, "%x: bf16[M, 8192], %r: bf16[M, 8192])", norm)
            .starts_with("team rows: i0: grid; i1: loop 1, warp 32, lane 32, vector 8"));
  CHECK(scheduled(h100, "%x: f32[M, 4096], %r: f32[4096])", norm)
            .starts_with("team rows: i0: grid; i1: loop 4, warp 8, lane 32, vector 4"));
}

TEST_CASE("a longer row that is walked again lies in the shared memory of a block or of several") {
  const char* const norm = "return mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true))";
  const auto rows = [&](const std::string& shape, const Target& target = h100) {
    return scheduled(target, "%x: " + shape + ")", norm);
  };
  const auto scaled_rows = [&](const std::string& shape, const std::string& weights) {
    return scheduled(h100, "%x: " + shape + ", %w: " + weights + ")",
                     "return mul(mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true)), %w)");
  };
  CHECK(
      rows("f32[M, 16384]") ==
      "shared rows: i0: grid; i1: loop, loop 1, warp 32, lane 32, vector 4; v0 in shared memory; v0 by bulk "
      "copy");
  // Where threads can have 32 elements in little room, they do; not if they would keep a function of each.
  CHECK(rows("bf16[M, 16384]") ==
        "team rows: i0: grid; i1: loop 4, warp 16, lane 32, vector 8; v0 in registers");
  const char* const softmax =
      "%y = cast(%x, dtype=f32)\n  %e = exp(sub(%y, max(%y, axes=[1], keepdims=true)))\n  return div(%e, "
      "sum(%e, axes=[1], keepdims=true))";
  CHECK(
      scheduled(h100, "%x: bf16[M, 16384])", softmax)
          .starts_with("shared rows: i0: grid; i1: loop, loop 1, warp 16, lane 32, vector 8; v0 in shared"));
  // One block to a multiprocessor, with all threads, which fetches a later row meanwhile, if it has more to
  // do than what copies bring; two do without a cluster; else there may be any number of blocks to a row.
  CHECK(
      scaled_rows("f32[65536, 32768]", "f32[32768]") ==
      "shared rows: i0: grid; i1: loop, loop 4, warp 32, lane 32, vector 4; v0 in shared memory; v0 by bulk "
      "copy; 33 rows ahead brought nearer; loads outlast stores in the cache");
  CHECK(rows("f32[65536, 32768]").find("i1: cluster 2, loop") != std::string::npos);
  CHECK(rows("bf16[M, 50264]").find("i1: loop, loop 1, warp 29") != std::string::npos);
  // Three blocks or four to a multiprocessor, whichever hold more; of clusters of 5, three leave processors
  // idle.
  CHECK(rows("f32[8192, 80000]").find("i1: cluster 6, loop") != std::string::npos);
  CHECK(rows("bf16[4096, 150008]").find("i1: cluster 4, loop") != std::string::npos);
  CHECK(
      rows("bf16[4096, 131072]") ==
      "shared rows: i0: grid; i1: cluster 4, loop, loop 1, warp 16, lane 32, vector 8; v0 in shared memory; "
      "v0 by bulk copy; 24 rows ahead brought nearer; loads outlast stores in the cache");
  // Few rows go to more blocks than they need.
  CHECK(rows("f32[8, 65536]").find("cluster 16") != std::string::npos);
  CHECK(rows("f32[8192, 65536]").find("cluster 4") != std::string::npos);
  // Longer rows are in pieces that blocks take as they start, of whole steps of their threads if that costs
  // few more; 2^20 elements fit only if the blocks take all that there is, 2^21 do not.
  CHECK(rows("f32[4096, 131072]") ==
        "shared rows: i0: grid; i1: grid 8, loop, loop 1, warp 16, lane 32, vector 4; v0 in shared memory; "
        "v0 by bulk copy; 12 rows ahead brought nearer");
  // Clusters of 8 are as good where threads load weights, or the row itself.
  CHECK(scaled_rows("f32[4096, 131072]", "f32[131072]").find("cluster 8") != std::string::npos);
  CHECK(rows("f32[4096, 100001]").find("grid 8") != std::string::npos);
  CHECK(rows("f32[4096, 150001]").find("grid 8") != std::string::npos);
  CHECK(scaled_rows("f32[512, 262144]", "f32[262144]").find("grid 16") != std::string::npos);
  const std::string pieces = rows("f32[M, 262144]");
  CHECK(pieces ==
        "shared rows: i0: grid; i1: grid 16, loop, loop 1, warp 16, lane 32, vector 4; v0 in shared memory; "
        "v0 by bulk copy");
  CHECK(rows("f32[M, 200000]").find("i1: grid 11, loop") != std::string::npos);
  CHECK(rows("f32[M, 524288]").find("i1: grid 32, loop") != std::string::npos);
  CHECK(rows("bf16[M, 1048576]").find("i1: grid 32, loop") != std::string::npos);
  CHECK(rows("f32[M, 1048576]").find("i1: grid 19, loop") != std::string::npos);
  CHECK(rows("f32[M, 2097152]").starts_with("team rows: i0: grid; i1: loop, loop 4"));
  CHECK(rows("f32[M, 131072]", Target::cuda("sm_80")).find("i1: grid 8, loop") != std::string::npos);
  // One long row keeps all processors busy only where each fold is shared by all.
  CHECK(rows("f32[1, 1048576]").starts_with("team rows"));
  CHECK(rows("f32[4, 1048576]").find("i1: grid 19, loop") != std::string::npos);
  // An odd length is no hindrance to bulk copies, an older device and a step between rows that differs from
  // the results' are.
  CHECK(rows("f32[M, 16381]").find("skewed; v0 in shared memory; v0 by bulk copy") != std::string::npos);
  for (const std::string& text : {rows("f32[M, 16384]", Target::cuda("sm_80")),
                                  scheduled(h100, "%x: f32[64, 16384])", norm, {{16386, 1}})}) {
    CHECK(text.starts_with("shared rows"));
    CHECK(text.find("bulk") == std::string::npos);
  }
  // No clusters, and more than a block has.
  CHECK(rows("f32[M, 65536]", Target::cuda("sm_80")).starts_with("team rows: i0: grid; i1: loop, loop 4"));
  CHECK(rows("f32[M, 16384]", Target::cuda("sm_75")).starts_with("team rows"));
  // What is read once needs no place, nor what is the same for every row.
  CHECK(scheduled(h100, "%x: f32[M, 65536])", "return sum(%x, axes=[1])").starts_with("team rows"));
  CHECK(scheduled(h100, "%x: f32[M, 32768], %w: f32[32768])",
                  "%y = mul(%x, %w)\n  return add(mul(%x, sum(%y, axes=[1], keepdims=true)), %w)")
            .find("v0 in shared memory; v0 by bulk copy") != std::string::npos);
  // The sum of two tensors takes the room of one, and passes the threads.
  const std::string joined =
      scheduled(h100, "%x: f32[M, 16384], %r: f32[M, 16384])",
                "%s = add(%x, %r)\n  return mul(%s, sum(mul(%s, %s), axes=[1], keepdims=true))");
  CHECK(joined == "shared rows: i0: grid; i1: loop, loop 4, warp 16, lane 32, vector 4; v2 in shared memory");
}

TEST_CASE("what a block keeps in shared memory, and the blocks of a cluster, stand beside the source") {
  const char* const norm = "return mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true))";
  const KernelSource one = source_of(kernel_of("%x: f32[96, 16384])", norm), h100);
  CHECK(one.shared_bytes == 65536);
  CHECK(one.cluster == 1);
  CHECK(one.units.is(96));
  const KernelSource parts = source_of(kernel_of("%x: bf16[4096, 131072])", norm), h100);
  CHECK(parts.shared_bytes == 65536);
  CHECK(parts.cluster == 4);
  CHECK(parts.units.is(4 * 4096));
  // As many blocks as their rows leave room for must have room for their registers, too.
  CHECK(parts.schedule.least_blocks == 3);
  const KernelSource scaled =
      source_of(kernel_of("%x: f32[4096, 131072], %w: f32[131072], %b: f32[131072])",
                          "return add(mul(mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true)), %w), %b)"),
                h100);
  CHECK(scaled.schedule.str().find("cluster 8, loop, loop 2, warp 16") != std::string::npos);
  // The last block has less; each part is a whole number of lines.
  const KernelSource odd = source_of(kernel_of("%x: f32[4096, 100001])", norm), h100);
  CHECK(odd.shared_bytes == (100000 / 8 / 128 + 1) * 128 * 4);
}

TEST_CASE("rows in shared memory lie in lines as in global memory") {
  const auto of = [](const std::string& input) {
    return source_of(
        kernel_of("%x: " + input + ")", "return mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true))"), h100);
  };
  const KernelSource off = of("f32[96, 16388]");
  CHECK(off.text.find("const int pad = (int)((i0 * row_s0) & 31);") != std::string::npos);
  CHECK(off.text.find("bulk_load(s0 + skip, ") != std::string::npos);
  CHECK(off.shared_bytes == (16388 + 28) * 4);
  const KernelSource narrow = of("bf16[96, 33000]");
  CHECK(narrow.text.find("& 63);") != std::string::npos);
  CHECK(narrow.shared_bytes == ((33000 + 56) * 2 + 127) / 128 * 128);
  for (const char* input : {"f32[96, 16384]", "f32[96, 16416]", "bf16[96, 33024]"})
    CHECK(of(input).text.find("pad") == std::string::npos);
}

TEST_CASE("no block that shares a row is left without any of it") {
  const char* const softmax =
      "%e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n"
      "  return div(%e, sum(%e, axes=[1], keepdims=true))";
  // 31 of 32 blocks would have all of the first six rows.
  for (const char* input :
       {"f32[2, 98708]", "f32[2, 99112]", "f32[2, 102748]", "f32[2, 103152]", "f32[2, 106788]",
        "f32[2, 110828]", "f32[2, 98709]", "f32[3, 100004]", "bf16[2, 197400]", "f64[2, 49300]"}) {
    const KernelSource s = source_of(kernel_of(fmt::format("%x: {})", input), softmax), h100);
    const Factor& blocks = s.schedule.axes[1].front();
    INFO(input << ": " << s.schedule.str());
    REQUIRE((blocks.level == Level::grid || blocks.level == Level::cluster));
    const std::string text = input;
    const std::int64_t length = std::stoll(text.substr(text.find(' ')));
    const std::int64_t part = s.shared_bytes / (text[0] == 'b' ? 2 : text[1] == '6' ? 8 : 4);
    CHECK((blocks.size - 1) * part < length - s.schedule.vector);
  }
}

TEST_CASE("where the order of folds is fixed, nothing but lengths decides who folds what") {
  const auto of = [](std::string_view inputs, std::string_view body,
                     const passes::InputStrides& strides = {}) {
    Kernel k = kernel_of(inputs, body, strides);
    k.fixed_fold_order = true;
    k.buffers[0].alignment = 4;
    const std::string text = schedule_of(k, h100).str();
    return text.substr(text.find("loop"));
  };
  const std::string expected = of("%x: f32[8, 4096])", "return sum(%x, axes=[1])");
  CHECK(of("%x: f32[4096, 8])", "return sum(%x, axes=[0])").starts_with("loop 4, warp 8, lane 32, vector 4"));
  CHECK(expected.starts_with("loop 4, warp 8, lane 32, vector 4"));
  CHECK(of("%x: f16[8, 4096])", "return sum(cast(%x, dtype=f32), axes=[1])") == expected);
}

TEST_CASE("a vector has 16 bytes of the narrowest tensor where everything divides by it") {
  CHECK(width("%x: f32[4096])", "return neg(%x)") == 4);
  CHECK(width("%x: bf16[4096])", "return cast(%x, dtype=f32)") == 8);
  CHECK(width("%x: int8[4096])", "return add(%x, 1)") == 16);
  CHECK(width("%x: f64[4096])", "return neg(%x)") == 2);
  CHECK(width("%x: f32[4098])", "return neg(%x)") == 2);
  CHECK(width("%x: f32[4097])", "return neg(%x)") == 1);
  CHECK(width("%x: f32[])", "return neg(%x)") == 1);
}

TEST_CASE("alignment, offsets and strides bound each tensor's accesses") {
  CHECK(access("%x: f32[4096])", "return neg(%x)") == 4);
  CHECK(access("%x: f32[4096])", "return neg(%x)", {}, 8) == 2);
  CHECK(access("%x: f32[4096])", "return neg(%x)", {}, 4) == 1);
  CHECK(access("%x: f32[4096])", "return neg(slice(%x, ranges=[2:4094]))") == 2);
  CHECK(access("%x: f32[4096])", "return neg(slice(%x, ranges=[1:4093]))") == 1);
  CHECK(access("%x: f32[8, 64])", "return neg(%x)", {{66, 1}}) == 2);
  CHECK(access("%x: f32[8, 64])", "return neg(%x)", {{68, 1}}) == 4);
  CHECK(access("%x: f32[8, 64], %y: f32[64, 8])", "return add(%x, permute_dims(%y, axes=[1, 0]))") == 4);
  CHECK(width("%x: f32[4096])", "return neg(%x)", {}, 4) == 4);  // for the output's sake
}

TEST_CASE("facts about symbols prove divisibility") {
  CHECK(width("%x: f32[M])", "return neg(%x)") == 1);
  CHECK(width("%x: f32[M]) where M % 8 == 0", "return neg(%x)") == 4);
  CHECK(width("%x: bf16[M]) where M % 4 == 0", "return cast(%x, dtype=f32)") == 4);
  CHECK(width("%x: f32[M, 6])", "return neg(%x)") == 2);
  CHECK(width("%x: f32[K, M], %b: f32[M]) where M % 2 == 0", "return add(%x, %b)") == 2);
}

TEST_CASE("indices have 64 bits only where something reaches 2^31") {
  const char* const body = "return neg(%x)";
  CHECK_FALSE(wide_index("%x: int8[2147300000])", "return bitwise_not(%x)"));
  CHECK(wide_index("%x: int8[2147483648])", "return bitwise_not(%x)"));
  CHECK(wide_index("%x: int8[2147483656])", "return bitwise_not(%x)"));
  CHECK(wide_index("%x: f32[M])", body));
  CHECK_FALSE(wide_index("%x: f32[4])", body));
  CHECK(wide_index("%x: f32[4])", body, {{std::int64_t{1} << 31}}));
  CHECK(wide_index("%x: f32[4])", body, {{-(std::int64_t{1} << 30)}}));
  CHECK_FALSE(wide_index("%x: f32[4])", body, {{1 << 28}}));
  // A row's last round of threads counts beyond its end.
  CHECK(wide_index("%x: int8[2147483647])", "return max(%x)"));
}

TEST_CASE("columns take so few warps that what their threads exchange fits shared memory") {
  const auto shared_bytes = [](std::string_view dtype, int count) {
    std::string body, results;
    for (int i = 0; i < count; ++i) {
      body += fmt::format("%{} = argmax(mul(%x, {}.5), axes=[0])\n", i, i);
      results += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    }
    const Kernel k = kernel_of(fmt::format("%x: {}[5120, 4096])", dtype), body + "return " + results);
    CHECK(schedule_of(k, h100).chooser == "team columns");
    const std::string text = source_of(k, h100).text;
    int bytes = 0;
    for (std::size_t at = 0; (at = text.find("__shared__ ", at)) != text.npos; ++at) {
      const bool narrow = text.compare(at + 11, 3, "f32") == 0 || text.compare(at + 11, 5, "index") == 0;
      bytes += (narrow ? 4 : 8) * std::stoi(text.substr(text.find('[', at) + 1));
    }
    return bytes;
  };
  CHECK(shared_bytes("f32", 1) >= 4 << 10);
  for (int count : {4, 7, 14})
    for (const char* dtype : {"f32", "f64"}) CHECK(shared_bytes(dtype, count) <= 48 << 10);
}

TEST_CASE("what all rows share is asked for a step ahead where it is shifted and rows are shared") {
  const auto ahead = [](const std::string& shape, const std::string& weights, const std::string& body) {
    const std::string text = scheduled(h100, "%x: " + shape + ", " + weights + ")", body);
    return text.find("a step ahead") != text.npos;
  };
  const char* const norm = "return mul(mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true)), %w)";
  const char* const affine = "return add(mul(mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true)), %w), %b)";
  CHECK(ahead("f32[4096, 65537]", "%w: f32[65537]", norm));
  CHECK(ahead("f32[1024, 200001]", "%w: f32[200001]", norm));
  CHECK(ahead("f32[16384, 12289]", "%w: f32[12289], %b: f32[12289]", affine));
  // Of parts so large that only three blocks fit, which are better than one of a piece as large as can be.
  CHECK_FALSE(ahead("f32[512, 500001]", "%w: f32[500001]", norm));
  CHECK(scheduled(h100, "%x: f32[512, 500001], %w: f32[500001])", norm).find("grid 28") != std::string::npos);
  // Not where a block has a row and few loads to make, where nothing is shifted, and with elements of 16
  // bits.
  CHECK_FALSE(ahead("f32[16384, 12289]", "%w: f32[12289]", norm));
  CHECK_FALSE(ahead("f32[4096, 65536]", "%w: f32[65536]", norm));
  CHECK_FALSE(ahead("bf16[4096, 65537]", "%w: bf16[65537]", norm));
}

TEST_CASE("short columns are in tiles so narrow that no block joins what others leave") {
  const auto schedule = [](int rows, int columns, std::string_view dtype) {
    const std::string inputs = fmt::format("%x: {}[{}, {}])", dtype, rows, columns);
    return schedule_of(kernel_of(inputs, "return sum(%x, axes=[0])"), h100).str();
  };
  const auto in_pieces = [](const std::string& s) { return s.find("i0: grid") != s.npos; };
  const auto as_wide_as_a_warp = [](const std::string& s) { return s.find("lane 32, vector") != s.npos; };
  for (const char* dtype : {"f32", "bf16"}) {
    CHECK_FALSE(in_pieces(schedule(264, 4096, dtype)));
    CHECK_FALSE(as_wide_as_a_warp(schedule(264, 4096, dtype)));
    CHECK(in_pieces(schedule(16384, 4096, dtype)));
    CHECK(as_wide_as_a_warp(schedule(264, 1 << 18, dtype)));  // there are enough of them
  }
}

TEST_CASE("every refusal says why") {
  std::vector<std::string> refusals;
  choose_schedule(kernel_of("%x: f32[M, 7])", "return sum(%x, axes=[0])"), describe(cpu), &refusals);
  CHECK(refusals == std::vector<std::string>{"segments: rows fold the whole of each folded axis",
                                             "pointwise: the kernel folds an axis",
                                             "short rows: rows may have 64 elements or more",
                                             "row: memory does not run along a folded innermost axis",
                                             "column: memory does not run along the innermost axis"});
}

TEST_CASE("an unknown architecture is an error that names the known ones") {
  CHECK_THROWS_WITH(
      describe(Target::cuda("sm_1")),
      Catch::Matchers::ContainsSubstring("'sm_1' is not a known architecture; known are sm_75") &&
          Catch::Matchers::ContainsSubstring("sm_121, and each with compute_ for sm_, for PTX"));
}
