// Which walks over its rows a kernel takes, and what each computes, keeps and stores.
#include "codegen/staging.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/codegen/kernels.h"

using namespace sinter;
using namespace sinter::codegen;
using namespace sinter::testing;

namespace {

std::string ops(const Kernel& k, const std::vector<int>& values) {
  std::string text;
  for (int v : values) {
    const KernelValue& x = k.values[static_cast<std::size_t>(v)];
    const bool is_op = x.kind == KernelValue::Kind::compute || x.kind == KernelValue::Kind::reduce;
    text += fmt::format("{}{}", text.empty() ? "" : " ",
                        is_op                               ? name(x.op)
                        : x.kind == KernelValue::Kind::load ? "load"
                                                            : "other");
  }
  return text;
}

std::string stored(const Kernel& k, const std::vector<int>& stores) {
  std::vector<int> values;
  for (int s : stores) values.push_back(k.stores[static_cast<std::size_t>(s)].value);
  return ops(k, values);
}

/// One line per walk, then what is left for the row.
std::string staged(const Kernel& k, const std::function<bool(int)>& keep) {
  const Staging s = stage(k, keep);
  std::string text = "\n";
  for (const Walk& w : s.walks) {
    auto part = [&](std::string_view what, const std::string& list) {
      return list.empty() ? "" : fmt::format(" | {} {}", what, list);
    };
    text += ops(k, w.values) + part("row", ops(k, w.row_values)) + part("restores", ops(k, w.restored)) +
            part("keeps", ops(k, w.kept)) + part("folds", ops(k, w.folds)) +
            part("stores", stored(k, w.stores)) + "\n";
  }
  return text + "row: " + ops(k, s.row_values) + " | stores " + stored(k, s.row_stores) + "\n";
}

std::function<bool(int)> dear(const Kernel& k) {
  return [&k](int v) { return flops(k.values[static_cast<std::size_t>(v)]) >= 8; };
}
bool nothing(int) {
  return false;
}

constexpr const char* softmax =
    "%m = max(%x, axes=[1], keepdims=true)\n  %e = exp(sub(%x, %m))\n  return div(%e, sum(%e, axes=[1], "
    "keepdims=true))";
constexpr const char* layer_norm =
    "%d = sub(%x, mul(sum(%x, axes=[1], keepdims=true), 0.25))\n"
    "  %v = mul(sum(mul(%d, %d), axes=[1], keepdims=true), 0.25)\n  return mul(%d, rsqrt(add(%v, 0.00001)))";

}  // namespace

TEST_CASE("softmax takes three walks and computes each exponential once") {
  const Kernel k = kernel_of("%x: f32[M, 64])", softmax);
  CHECK(staged(k, dear(k)) == R"(
load | folds max
load sub exp | keeps exp | folds sum
div | restores exp | stores div
row:  | stores 
)");
}

TEST_CASE("without keeping, every walk computes anew from loads") {
  const Kernel k = kernel_of("%x: f32[M, 64])", softmax);
  CHECK(staged(k, nothing) == R"(
load | folds max
load sub exp | folds sum
load sub exp div | stores div
row:  | stores 
)");
}

TEST_CASE("layer norm takes three walks, and its root once per row") {
  const Kernel k = kernel_of("%x: f32[M, 4])", layer_norm);
  CHECK(staged(k, dear(k)) == R"(
load | row other other | folds sum
load sub mul | row mul | folds sum
load sub mul | row mul add rsqrt | stores mul
row:  | stores 
)");
}

TEST_CASE("what is there in a walk that folds is stored there") {
  const Kernel k =
      kernel_of("%x: f32[M, 4])", "%y = exp(%x)\n  return %y, sum(%y, axes=[1]), max(%x, axes=[1])");
  CHECK(staged(k, dear(k)) == R"(
load exp | folds sum max | stores exp
row:  | stores sum max
)");
}

TEST_CASE("what only rows need is computed once per row") {
  const Kernel k = kernel_of("%x: f32[M, 4], %s: f32[M])", "return exp(add(sum(%x, axes=[1]), log(%s)))");
  CHECK(staged(k, dear(k)) == R"(
load | row load log | folds sum
row: add exp | stores exp
)");
}
