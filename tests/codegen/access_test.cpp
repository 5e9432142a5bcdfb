// How wide kernels for a GPU read: what one condition, or a place that the kernel computes, covers as a
// whole.
#include <fmt/format.h>

#include "codegen/access.h"
#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;

namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string text_on_h200(std::string_view inputs, std::string_view body) {
  return source_of(kernel_of(inputs, body), Target::cuda("sm_90a")).text;
}

}  // namespace

TEST_CASE("a gathered row is read in whole vectors, two of which a thread has on their way") {
  const std::string text = text_on_h200("%x: bf16[512, 256], %i: int64[64])", "return take(%x, %i, axis=0)");
  CHECK(has(text, "x3[c] = v2 ? load_vec<8, 8>(in1 + i1 + (index)v1 * v3_s2) : vec<bf16, 8>{};"));
  // Vectors as wide as the length of rows, and what else there is, allows.
  CHECK(has(text_on_h200("%x: bf16[512, 260], %i: int64[64])", "return take(%x, %i, axis=0)"),
            "load_vec<4, 4>"));
  CHECK(!has(text_on_h200("%x: bf16[512, 257], %i: int64[64])", "return take(%x, %i, axis=0)"), "load_vec"));
}

TEST_CASE("a thread has two vectors on their way where their places must be read first") {
  const auto schedule = [](std::string_view inputs, std::string_view body) {
    return schedule_of(kernel_of(inputs, body), Target::cuda("sm_90a")).str();
  };
  CHECK(schedule("%x: bf16[512, 256], %i: int64[64])", "return take(%x, %i, axis=0)") ==
        "pointwise: i0: grid; i1: grid, loop 2, block 128, vector 8");
  CHECK(schedule("%x: f32[64, 256])", "return pad(%x, before=[4, 0], after=[4, 0], value=0)") ==
        "pointwise: i0: grid; i1: grid, block 256, vector 4");
}

TEST_CASE("what is joined or padded where vectors begin is read in vectors") {
  const auto text = [](const char* body) { return text_on_h200("%x: f32[64, 256], %y: f32[64, 64])", body); };
  CHECK(has(text("return pad(%x, before=[0, 4], after=[0, 8], value=0)"), "load_vec<4, 4>"));
  CHECK(has(text("return concat(%x, %y, axis=1)"), "load_vec<4, 4>"));
  CHECK(!has(text("return concat(slice(%x, ranges=[0:64, 0:254]), slice(%y, ranges=[0:64, 0:2]), axis=1)"),
             "load_vec<4, 4>"));
}

TEST_CASE("a place that changes from element to element is no vector's") {
  CHECK(!has(text_on_h200("%x: f32[64, 512], %i: int64[256])", "return take(%x, %i, axis=1)"), "(in1 +"));
  CHECK(!has(text_on_h200("%x: f32[64, 256])", "return pad(%x, before=[0, 3], after=[0, 5], value=0)"),
             "load_vec"));
}

TEST_CASE("what is joined, padded or repeated along outer axes is read in whole vectors") {
  CHECK(has(text_on_h200("%x: f32[64, 256])", "return pad(%x, before=[4, 0], after=[4, 0], value=0)"),
            "? load_vec<4, 4>"));
  CHECK(has(text_on_h200("%x: f32[64, 256], %y: f32[32, 256])", "return concat(%x, %y, axis=0)"),
            "? load_vec<4, 4>"));
  CHECK(has(text_on_h200("%x: f32[64, 256])",
                         "return neg(reshape(broadcast_to(reshape(%x, shape=[64, 1, 256]), shape=[64, 3, "
                         "256]), shape=[192, 256]))"),
            "load_vec<4, 4>"));
}

TEST_CASE("gathered rows are folded in whole vectors, along them and across them") {
  const std::string inputs = "%x: bf16[512, 1024], %i: int64[4096])";
  CHECK(has(text_on_h200(inputs, "return max(take(%x, %i, axis=0), axes=[1])"), "? load_vec<8, 8>"));
  CHECK(has(text_on_h200(inputs, "return max(take(%x, %i, axis=0), axes=[0])"), "? load_vec<8, 8>"));
}

TEST_CASE("rows of odd lengths are moved in the vectors of their tensors") {
  const std::string norm = "return mul(mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true)), %w)";
  const std::string f32_text = text_on_h200("%x: f32[64, 4097], %w: f32[4097])", norm);
  CHECK(has(f32_text, "bulk_load(s0 + skip"));
  CHECK(has(f32_text, "load_shifted<4>(in1, "));
  CHECK(has(f32_text, "store_vec<4>(out0"));
  CHECK(!has(f32_text, "load_vec<1, 4>"));  // but for the few that are in no vector
  CHECK(has(f32_text, "load_vec<1, 1>(in0"));
  // 16-bit results of f32 rows decide how long a vector is.
  const std::string mixed =
      text_on_h200("%x: f32[64, 1001])",
                   "return cast(mul(%x, sum(%x, axes=[1], keepdims=true)), dtype=bf16), argmax(%x, "
                   "axes=[1])");
  CHECK(has(mixed, "load_vec<4, 8>(in0"));
  CHECK(has(mixed, "store_vec<8>(out0"));
  // Rows further apart than the results' are shifted; short rows, and aligned ones, are as ever.
  CHECK(has(text_on_h200("%x: bf16[64, 1003])",
                         "%p = slice(%x, ranges=[:, 2:])\n  return sub(%p, max(%p, "
                         "axes=[1], keepdims=true))"),
            "load_shifted<8>(in0, "));
  const std::string sum = "return sub(%x, sum(%x, axes=[1], keepdims=true))";
  CHECK(!has(text_on_h200("%x: f32[64, 33])", sum), "lead"));
  CHECK(!has(text_on_h200("%x: f32[64, 4096])", sum), "lead"));
}

TEST_CASE("what is the same for all rows is loaded where it is used, word by word from the nearest cache") {
  const std::string norm = "return mul(mul(%x, sum(mul(%x, %x), axes=[1], keepdims=true)), %w)";
  const auto text = [&](std::string_view dtype, int cols) {
    return text_on_h200(fmt::format("%x: {0}[65536, {1}], %w: {0}[{1}])", dtype, cols), norm);
  };
  CHECK(has(text("f32", 1024), " = load_vec_outlasting<4, 4>(in1 + i1, policy)"));
  CHECK(has(text("f32", 1001), " = load_words<4>(in1, "));
  CHECK(has(text("bf16", 1001), " = load_words<8>(in1, "));
  CHECK(has(text("bf16", 100001), " = load_shifted<8>(in1, "));  // blocks share a row, and weights are far
  // A vector of 32 bytes is nearer by wide accesses.
  CHECK(has(text_on_h200("%x: bf16[65536, 1001], %w: f32[1001])",
                         "%y = cast(%x, dtype=f32)\n  return cast(mul(mul(%y, sum(mul(%y, %y), axes=[1], "
                         "keepdims=true)), %w), dtype=bf16)"),
            " = load_shifted<8>(in1, "));
}

TEST_CASE("threads that have no vector of a row load its last one") {
  const auto text = [](int cols) {
    return text_on_h200(fmt::format("%x: f32[65536, {}])", cols),
                        "return sub(%x, sum(%x, axes=[1], keepdims=true))");
  };
  const std::string some = text(300);
  CHECK(has(some, "const index f = c < 2 || own < n1 ? own : n1 - 4;"));
  CHECK(has(some, "if (c < 2 || f < n1) {"));
  CHECK(has(some, "join_chunks(x0, n1);"));
  const std::string skewed = text(1001);  // 250 vectors, or 249 where more elements lie before the first one
  CHECK(has(skewed, "const index f = c < 1 || own < full ? own : full - 4;"));
  CHECK(has(skewed, "join_chunks(x0, n1);"));
  for (const int whole : {256, 1024}) {
    CHECK_FALSE(has(text(whole), "if (f < "));
    CHECK_FALSE(has(text(whole), "join_chunks"));
  }
}

TEST_CASE("rows are copied with their neighbours where no other ends with the last one") {
  const auto copied = [](std::string_view inputs, std::string_view body) {
    const Kernel k = kernel_of(inputs, body);
    std::vector<bool> found;
    for (std::size_t v = 0; v < k.values.size(); ++v)
      if (k.values[v].kind == KernelValue::Kind::load)
        found.push_back(copies_with_neighbours(k, static_cast<int>(v)));
    return found;
  };
  using All = std::vector<bool>;
  CHECK(copied("%x: bf16[7, 1003])", "return sum(%x, axes=[1])") == All{true});
  CHECK(copied("%x: bf16[7, 1003])", "return sum(slice(%x, ranges=[1:6, 2:]), axes=[1])") == All{true});
  // Every row of the first operand comes again and again.
  CHECK(copied("%x: f32[5, 1003], %y: f32[7, 5, 1003])", "return sum(mul(%x, %y), axes=[2])") ==
        All{false, true});
  CHECK(copied("%x: f32[7, 1003])", "return sum(flip(%x, axes=[0]), axes=[1])") == All{false});
  CHECK(copied("%x: f32[7, 1003])", "return sum(flip(%x, axes=[1]), axes=[1])") == All{false});
}

TEST_CASE("a row over several axes that is one stretch of memory is copied in bulk") {
  const char* const weighted = "%s = sum(%x, axes=[2, 3], keepdims=true)\n  return mul(sub(%x, %s), %w)";
  const std::string text = text_on_h200("%x: f32[64, 4, 8, 3136], %w: f32[4, 8, 1])", weighted);
  CHECK(has(text, "bulk_load(s0, in0 + i0 * v0_s0 + i1 * v0_s1 + i2 * v0_s2 + i3, (uint32)count * 4u, "));
  // Its parts begin anywhere in the axes.
  CHECK(has(text_on_h200("%x: f32[64, 4, 8, 6272], %w: f32[4, 8, 1])", weighted),
            "const index first = start;\n    const index i3 = first % n3;"));
  // Where its elements lie apart, threads load them.
  CHECK(!has(text_on_h200("%x: f32[64, 8, 4, 3136], %w: f32[4, 8, 1])",
                          "%y = permute_dims(%x, axes=[0, 2, 1, 3])\n"
                          "  %s = sum(%y, axes=[2, 3], keepdims=true)\n  return mul(sub(%y, %s), %w)"),
             "bulk_load"));
}
