// The kernel IR as text.
#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

std::string lowered(std::string_view inputs, std::string_view body,
                    const passes::InputStrides& strides = {}) {
  std::string text = kernel_of(inputs, body, strides).str();
  text.erase(0, text.find('\n'));
  return text;
}

}  // namespace

TEST_CASE("elementwise ops of contiguous tensors walk one axis") {
  CHECK(lowered("%x: f32[M, 4], %y: f32[M, 4])", "return mul(%x, add(%y, 0.5))") == R"(
  axis i0 < 4*M
  v0: f32 = b0[i0]
  v1: f32 = b1[i0]
  v2: f32 = 0.5
  v3: f32 = add(v1, v2)
  v4: f32 = mul(v0, v3)
  b2[i0] = v4
)");
}

TEST_CASE("movement ops are in the addresses of loads") {
  CHECK(lowered("%x: f32[4, 6])", "return neg(permute_dims(%x, axes=[1, 0]))") == R"(
  axis i0 < 6
  axis i1 < 4
  v0: f32 = b0[i0 + (6)*i1]
  v1: f32 = neg(v0)
  b1[(4)*i0 + i1] = v1
)");
  CHECK(lowered("%x: f32[9, 6])", "return neg(slice(%x, ranges=[7:0:-3, 1::2]))") == R"(
  axis i0 < 3
  axis i1 < 3
  v0: f32 = b0[(-18)*i0 + (2)*i1 + 43]
  v1: f32 = neg(v0)
  b1[(3)*i0 + i1] = v1
)");
  CHECK(lowered("%x: f32[M, N])", "return neg(flip(%x, axes=[0]))") == R"(
  axis i0 < M
  axis i1 < N
  v0: f32 = b0[(-N)*i0 + i1 + -N + M*N]
  v1: f32 = neg(v0)
  b1[(N)*i0 + i1] = v1
)");
  CHECK(lowered("%x: f32[M, N], %b: f32[N])", "return add(%x, %b)") == R"(
  axis i0 < M
  axis i1 < N
  v0: f32 = b0[(N)*i0 + i1]
  v1: f32 = b1[i1]
  v2: f32 = add(v0, v1)
  b2[(N)*i0 + i1] = v2
)");
}

TEST_CASE("a padded element is read only where it is") {
  CHECK(lowered("%x: f32[5])", "return pad(%x, before=[2], after=[1], value=7)") == R"(
  axis i0 < 8
  v0: bool = i0 + -2 in [0, 5)
  v1: f32 = b0[i0 + -2] if v0
  v2: f32 = 7
  v3: f32 = where(v0, v1, v2)
  b1[i0] = v3
)");
}

TEST_CASE("joined tensors are selected from, each read under its guard") {
  CHECK(lowered("%x: f32[5], %y: f32[3])", "return neg(concat(%x, %y, axis=0))") == R"(
  axis i0 < 8
  v0: bool = i0 in [0, 5)
  v1: f32 = b0[i0] if v0
  v2: bool = i0 + -5 in [0, 3)
  v3: f32 = b1[i0 + -5] if v2
  v4: f32 = where(v0, v1, v3)
  v5: f32 = neg(v4)
  b2[i0] = v5
)");
}

TEST_CASE("what a kernel reads under guards counts where it is read") {
  const auto bytes = [](std::string_view inputs, std::string_view body) {
    const codegen::Kernel k = kernel_of(inputs, body);
    return std::pair{k.bytes(false).str(), k.bytes(true).str()};
  };
  using Bytes = std::pair<std::string, std::string>;
  CHECK(bytes("%x: f32[5], %y: f32[5])", "return concat(%x, %y, axis=0)") == Bytes{"40", "40"});
  CHECK(bytes("%x: f32[5], %y: f32[7])", "return neg(concat(%x, %y, %x, axis=0))") == Bytes{"48", "68"});
  CHECK(bytes("%x: f32[4, 5], %y: f32[4, 3])", "return concat(%x, %y, axis=1)") == Bytes{"128", "128"});
  CHECK(bytes("%x: f32[4, 5], %y: f32[2, 5])", "return sum(concat(%x, %y, axis=0), axes=[0])") ==
        Bytes{"120", "20"});
  CHECK(bytes("%x: f32[5])", "return add(pad(%x, before=[5], after=[5], value=0), 1)") == Bytes{"20", "60"});
  CHECK(bytes("%x: bf16[3, 4])", "return pad(%x, before=[1, 2], after=[1, 3], value=0)") ==
        Bytes{"24", "90"});
  CHECK(bytes("%x: f32[5])", "return neg(flip(pad(%x, before=[3], after=[0], value=0), axes=[0]))") ==
        Bytes{"20", "32"});
  CHECK(bytes("%x: f32[5])", "return neg(slice(pad(%x, before=[3], after=[0], value=0), ranges=[1:5]))") ==
        Bytes{"8", "16"});
  CHECK(bytes("%x: f32[M], %y: f32[3])", "return concat(%x, %y, axis=0)") == Bytes{"4*M + 12", "4*M + 12"});
}

TEST_CASE("of a table no more counts than is gathered from it") {
  const auto read = [](std::string_view inputs, std::string_view body) {
    return kernel_of(inputs, body).bytes(false).str();
  };
  // 7 rows of 4 elements, or all that there are, and 7 indices.
  CHECK(read("%x: f32[1000, 4], %i: int32[7])", "return take(%x, %i, axis=0)") == "140");
  CHECK(read("%x: f32[5, 4], %i: int32[7])", "return take(%x, %i, axis=0)") == "108");
  CHECK(read("%x: f32[8, 100], %i: int64[8, 1])", "return take_along_axis(%x, %i, axis=1)") == "96");
}

TEST_CASE("an index of a gather counts from the end, and guards its load") {
  CHECK(lowered("%x: f32[5, 4], %i: int32[7])", "return take(%x, %i, axis=0)") == R"(
  axis i0 < 7
  axis i1 < 4
  v0: int32 = b0[i0]
  v1: int64 = wrap(v0, 5)
  v2: bool = v1 in [0, 5)
  v3: f32 = b1[i1 + (4)*v1] if v2
  v4: f32 = nan
  v5: f32 = where(v2, v3, v4)
  b2[(4)*i0 + i1] = v5
)");
  CHECK(lowered("%x: int8[5], %i: int64[7])", "return take_along_axis(%x, %i, axis=0)") == R"(
  axis i0 < 7
  v0: int64 = b0[i0]
  v1: int64 = wrap(v0, 5)
  v2: bool = v1 in [0, 5)
  v3: int8 = b1[v1] if v2
  v4: int8 = 0
  v5: int8 = where(v2, v3, v4)
  b2[i0] = v5
)");
}

TEST_CASE("reductions fold axes of the domain, and what is folded is stored without them") {
  CHECK(lowered("%x: f32[M, N])", "%m = max(%x, axes=[1], keepdims=true)\n  return sub(%x, %m)") == R"(
  axis i0 < M
  axis i1 < N (reduced)
  v0: f32 = b0[(N)*i0 + i1]
  v1: f32 = max(v0)
  v2: f32 = sub(v0, v1)
  b1[(N)*i0 + i1] = v2
)");
  CHECK(lowered("%x: f32[M, N])", "return sum(%x, axes=[0]), argmax(%x, axes=[0])") == R"(
  axis i0 < M (reduced)
  axis i1 < N
  v0: f32 = b0[(N)*i0 + i1]
  v1: f32 = sum(v0)
  v2: int64 = argmax(v0)
  b1[i1] = v1
  b2[i1] = v2
)");
}

TEST_CASE("whole-number sums fold what was widened before") {
  CHECK(lowered("%x: int8[M])", "return sum(%x)") == R"(
  axis i0 < M (reduced)
  v0: int8 = b0[i0]
  v1: int64 = cast(v0)
  v2: int64 = sum(v1)
  b1[0] = v2
)");
}

TEST_CASE("counters and random bits are numbered by the element's place") {
  CHECK(lowered("%x: f32[4, 6])", "return add(%x, iota(shape=[4, 6], axis=0, dtype=f32))") == R"(
  axis i0 < 4
  axis i1 < 6
  v0: f32 = b0[(6)*i0 + i1]
  v1: f32 = i0
  v2: f32 = add(v0, v1)
  b1[(6)*i0 + i1] = v2
)");
  CHECK(lowered("%k: int64[], %c: int64[])",
                "return bitwise_not(flip(random_bits(%k, %c, shape=[4, 6]), axes=[1]))") == R"(
  axis i0 < 4
  axis i1 < 6
  v0: int64 = b0[0]
  v1: int64 = b1[0]
  v2: int32 = random_bits(v0, v1, (6)*i0 + (-1)*i1 + 5)
  v3: int32 = bitwise_not(v2)
  b2[(6)*i0 + i1] = v3
)");
}
