#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// "M x 8 (folded)": the kernel's axes.
std::string axes(std::string_view inputs, std::string_view body, const passes::InputStrides& strides = {}) {
  std::string text;
  for (const codegen::KernelAxis& a : kernel_of(inputs, body, strides).axes)
    text += (text.empty() ? "" : " x ") + a.extent.str() + (a.reduced ? " folded" : "");
  return text;
}

}  // namespace

TEST_CASE("a contiguous tensor of any rank is one axis") {
  CHECK(axes("%x: f32[2, 3, 4, 5])", "return neg(%x)") == "120");
  CHECK(axes("%x: f32[M, 3, N])", "return neg(%x)") == "3*M*N");
  CHECK(axes("%x: f32[])", "return neg(%x)") == "");
  CHECK(axes("%x: f32[1, 1])", "return neg(%x)") == "");
}

TEST_CASE("axes of length 1 are gone, wherever they stand") {
  CHECK(axes("%x: f32[1, 3, 1, 5, 1], %y: f32[5, 1])", "return add(%x, %y)") == "3 x 5");
}

TEST_CASE("only axes that every address walks through without a gap are joined") {
  CHECK(axes("%x: f32[2, 3, 4], %y: f32[4])", "return add(%x, %y)") == "6 x 4");
  CHECK(axes("%x: f32[2, 3, 4], %y: f32[2, 1, 1])", "return add(%x, %y)") == "2 x 12");
  CHECK(axes("%x: f32[2, 3, 4], %y: f32[3, 1])", "return add(%x, %y)") == "2 x 3 x 4");
  CHECK(axes("%x: f32[2, 3, 4])", "return neg(%x)", {{12, 4, 1}}) == "24");
  CHECK(axes("%x: f32[2, 3, 4])", "return neg(%x)", {{13, 4, 1}}) == "2 x 12");
  CHECK(axes("%x: f32[2, 3, 4])", "return neg(%x)", {{0, 0, 0}}) == "24");
}

TEST_CASE("a folded and a kept axis stay apart, folded neighbours are one") {
  CHECK(axes("%x: f32[4, 5, 6, 7])", "return sum(%x, axes=[2, 3])") == "20 x 42 folded");
  CHECK(axes("%x: f32[4, 5, 6, 7])", "return sum(%x, axes=[0, 1])") == "20 folded x 42");
  CHECK(axes("%x: f32[4, 5, 6, 7])", "return sum(%x, axes=[1])") == "4 x 5 folded x 42");
  CHECK(axes("%x: f32[4, 5, 6, 7])", "return sum(%x, axes=[0, 2])") == "4 folded x 5 x 6 folded x 7");
  CHECK(axes("%x: f32[4, 5, 6, 7])", "return sum(%x)") == "840 folded");
  CHECK(axes("%x: f32[4, 5])", "return argmax(reshape(%x, shape=[20]), axes=[0])") == "20 folded");
}

TEST_CASE("padding and joining along an inner axis leave the outer ones to be joined") {
  CHECK(axes("%x: f32[2, 3, 4])", "return pad(%x, before=[0, 0, 1], after=[0, 0, 2], value=0)") == "6 x 7");
  CHECK(axes("%x: f32[2, 3, 4])", "return pad(%x, before=[1, 0, 0], after=[0, 0, 0], value=0)") == "3 x 12");
}
