// Which kernels go through tiles in shared memory, and how: from the addresses alone.
#include "codegen/tile.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;

namespace {

const Target h200 = Target::cuda("sm_90a");

Schedule on_h200(std::string_view inputs, std::string_view body) {
  return schedule_of(kernel_of(inputs, body), h200);
}

/// The most threads that want one bank at once, over a schedule's tiles.
int worst_conflicts(const Kernel& k, const Schedule& s) {
  const TileShape shape(k, s);
  int worst = 0;
  for (const SharedTile& t : s.tiles) {
    const auto load = static_cast<std::size_t>(std::max(t.load, 0));
    const auto store = static_cast<std::size_t>(std::max(t.store, 0));
    const Affine& address = t.load >= 0 ? k.values[load].address : k.stores[store].address;
    const int buffer = t.load >= 0 ? k.values[load].buffer : k.stores[store].buffer;
    const int bytes = size_of(k.buffers[static_cast<std::size_t>(buffer)].dtype);
    worst = std::max(worst, bank_conflicts(shape, t, address, bytes));
  }
  return worst;
}

}  // namespace

TEST_CASE("a transposed operand goes through a tile, whatever its name") {
  const Kernel k =
      kernel_of("%x: f32[1024, 512], %y: f32[512, 1024])", "return add(%x, permute_dims(%y, axes=[1, 0]))");
  const Schedule s = schedule_of(k, h200);
  CHECK(s.str() == "tiles: i0: grid, block 64; i1: grid, block 16, vector 4; v1 through a tile");
  REQUIRE(s.tiles.size() == 1);
  CHECK(s.tiles[0].access == 4);
  CHECK(s.block_threads == 512);
  const KernelSource source = source_of(k, h200);
  CHECK(source.units.value() == (1024 / 64) * (512 / 64));
  // Strides make the same of an operand that is not written as a transposition.
  const Kernel strided =
      kernel_of("%x: f32[1024, 512], %y: f32[1024, 512])", "return add(%x, %y)", {{512, 1}, {1, 1024}});
  CHECK(schedule_of(strided, h200).str() == s.str());
  CHECK(schedule_of(k, Target::cpu()).chooser == "pointwise");
}

TEST_CASE("tiles are left alone where memory is read in long enough runs") {
  CHECK(on_h200("%x: f32[64, 512], %y: f32[64, 1])", "return add(%x, %y)").chooser == "pointwise");
  CHECK(on_h200("%x: f32[64, 32, 16, 128])", "return neg(permute_dims(%x, axes=[0, 2, 1, 3]))").chooser ==
        "pointwise");
  CHECK(on_h200("%x: f32[64, 512])", "return neg(flip(%x, axes=[1]))").chooser == "pointwise");
  CHECK(on_h200("%x: f32[64, 32, 16, 4])", "return neg(permute_dims(%x, axes=[0, 2, 1, 3]))").chooser ==
        "tiles");
}

TEST_CASE("tiles are full where that costs no more than half their length") {
  const auto rows = [](const std::string& dtype, const std::string& places) {
    const std::string x = "%x: " + dtype + "[8, 256, " + places + "])";
    const Kernel k = kernel_of(x, "return neg(permute_dims(%x, axes=[0, 2, 1]))");
    const Schedule s = schedule_of(k, h200);
    return TileShape(k, s).size(1);
  };
  CHECK(rows("bf16", "4096") == 128);
  CHECK(rows("bf16", "3136") == 64);  // 49 of them, where the last of 128 would be half empty
  CHECK(rows("f32", "3136") == 64);
  CHECK(rows("f32", "3104") == 32);
  CHECK(rows("bf16", "3104") == 128);  // none of 64 bytes
  CHECK(rows("bf16", "784") == 64);    // fewer threads without work
}

TEST_CASE("tensors without elements have no tiles") {
  for (const char* sizes : {"0, 512", "512, 0"})
    CHECK(on_h200(std::string("%x: f32[") + sizes + "])", "return neg(permute_dims(%x, axes=[1, 0]))")
              .chooser == "pointwise");
}

TEST_CASE("blocks take pieces of rows where elements go one by one") {
  CHECK(on_h200("%x: f32[64, 4099], %y: f32[4099])", "return add(%x, %y)").str() ==
        "pointwise: i0: grid; i1: grid, block 1024; along i1");
  CHECK(on_h200("%x: bf16[64, 1001], %y: bf16[1001])", "return add(%x, %y)").str() ==
        "pointwise: i0: grid; i1: grid, block 512; along i1");
  CHECK(on_h200("%x: f32[64, 33], %y: f32[33])", "return add(%x, %y)").lead == -1);
  CHECK(on_h200("%x: f32[64, 4096], %y: f32[4096])", "return add(%x, %y)").lead == -1);
}

TEST_CASE("whatever is fewer bytes is turned: operands or the result") {
  const Schedule result =
      on_h200("%x: f32[512, 256], %y: f32[512, 256])", "return neg(permute_dims(mul(%x, %y), axes=[1, 0]))");
  REQUIRE(result.tiles.size() == 1);
  CHECK(result.tiles[0].store == 0);
  CHECK(result.lead == 0);
  const Schedule operands =
      on_h200("%x: f32[512, 256], %y: f32[512, 256], %z: f32[256, 512], %w: f32[256, 512])",
              "return add(mul(%z, %w), permute_dims(mul(%x, %y), axes=[1, 0]))");
  CHECK(operands.tiles.size() == 2);
  CHECK(operands.lead == -1);
}

TEST_CASE("a thread takes few channels whole, by wide accesses on both sides") {
  for (const char* dtype : {"uint8", "bf16", "f32"}) {
    const std::string shape = std::string("%x: ") + dtype;
    const Kernel to_last =
        kernel_of(shape + "[8, 3, 4096])", "return add(1, permute_dims(%x, axes=[0, 2, 1]))");
    const Kernel to_first =
        kernel_of(shape + "[8, 4096, 3])", "return add(1, permute_dims(%x, axes=[0, 2, 1]))");
    const Schedule last = schedule_of(to_last, h200), first = schedule_of(to_first, h200);
    const int wide = 16 / size_of(to_last.buffers[0].dtype);
    CHECK(last.vector == wide);
    CHECK(last.tiles.at(0).store == 0);
    CHECK(last.tiles.at(0).access == wide);
    CHECK(first.tiles.at(0).load >= 0);
    CHECK(first.tiles.at(0).access == wide);
    CHECK(worst_conflicts(to_last, last) == 1);
    CHECK(worst_conflicts(to_first, first) == 1);
  }
}

TEST_CASE("accesses are as wide as extents and strides allow") {
  const auto access = [](const std::string& rows, const std::string& columns) {
    const std::string a = rows + ", " + columns, b = columns + ", " + rows;
    const Schedule s =
        on_h200("%x: f32[" + a + "], %y: f32[" + b + "])", "return add(%x, permute_dims(%y, axes=[1, 0]))");
    REQUIRE(s.tiles.size() == 1);
    return std::pair(s.vector, s.tiles[0].access);
  };
  CHECK(access("512", "512") == std::pair(4, 4));
  CHECK(access("510", "512") == std::pair(4, 2));
  CHECK(access("512", "509") == std::pair(1, 4));
  CHECK(access("511", "509") == std::pair(1, 1));
  CHECK(access("M", "512") == std::pair(4, 1));
}

TEST_CASE("the banks of shared memory serve tiles at once, or two threads each") {
  for (const char* dtype : {"uint8", "bf16", "f32", "f64"})
    for (const char* sizes : {"512, 1024", "512, 1000", "509, 511", "40, 3000", "3000, 40"}) {
      const Kernel k = kernel_of(std::string("%x: ") + dtype + "[" + sizes + "])",
                                 "return add(1, permute_dims(%x, axes=[1, 0]))");
      const Schedule s = schedule_of(k, h200);
      INFO(dtype << " " << sizes << " " << s.str());
      REQUIRE(s.chooser == "tiles");
      CHECK(worst_conflicts(k, s) <= 2);
    }
}

TEST_CASE("tiles of many operands fit shared memory") {
  std::string inputs, sum = "%x0";
  std::string body;
  for (int i = 0; i < 9; ++i) {
    inputs += (i == 0 ? "%x" : ", %x") + std::to_string(i) + ": f64[512, 512]";
    if (i == 0) continue;
    const std::string n = std::to_string(i);
    body += "%s" + n + " = add(" + sum + ", " +
            (i % 2 ? "permute_dims(%x" + n + ", axes=[1, 0])" : "%x" + n) + ")\n  ";
    sum = "%s" + n;
  }
  const Kernel k = kernel_of(inputs + ")", body + "return " + sum);
  const Schedule s = schedule_of(k, h200);
  REQUIRE(s.chooser == "tiles");
  std::int64_t bytes = 0;
  for (const SharedTile& t : s.tiles) bytes += shared_elements(TileShape(k, s), t) * 8;
  CHECK(s.tiles.size() == 4);
  CHECK(bytes <= 48 << 10);
}
