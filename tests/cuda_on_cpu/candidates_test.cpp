// What autotuning may choose: every candidate of every kind of schedule computes what the program says.
#include <fmt/format.h>

#include "codegen/candidates.h"
#include "ir/parse.h"
#include "ir/rewrite.h"
#include "runtime/program_impl.h"
#include "tests/catch.h"
#include "tests/cuda_on_cpu/run_program.h"
#include "tests/support/drawn.h"
#include "tests/support/error_bounds.h"
#include "tests/support/run_program.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// Runs the graph under each candidate of its kernels, of which one is by `chooser`. Returns how many other
/// schedules that were.
int check_candidates(const std::string& chooser, const std::string& inputs, const std::string& body,
                     const std::string& arch = "sm_90a") {
  const ir::Graph g =
      ir::without_dead_nodes(ir::parse(fmt::format("graph @g({}) {{\n  {}\n}}\n", inputs, body)));
  runtime::ProgramOptions options;
  options.target = codegen::Target::cuda(arch);
  const auto program = runtime::Program::build(ir::without_dead_nodes(g), options);
  const runtime::Program::Impl& p = program->impl();
  std::vector<ir::Array> arrays;
  std::vector<runtime::TensorView> views;
  for (ir::Value v : g.inputs()) arrays.push_back(drawn(g.dtype(v), g.shape(v).values(), arrays.size() + 1));
  for (const ir::Array& a : arrays) views.push_back(view_of(a));
  const std::vector<Bounded> expected = evaluate_bounded(g, arrays);
  bool found = false;
  for (const codegen::KernelSource& s : p.sources) found = found || s.schedule.chooser == chooser;
  INFO(inputs << "\n" << body << "\n" << program->explain());
  CHECK(found);
  int others = 0;
  for (std::size_t number = 1; number < codegen::most_candidates; ++number) {
    std::vector<codegen::KernelSource> sources = p.sources;
    std::string what;
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const std::vector<codegen::Schedule> all =
          codegen::candidates(p.kernels[k], sources[k].schedule, codegen::describe(options.target));
      CHECK(all.size() <= codegen::most_candidates);
      CHECK(all[0] == sources[k].schedule);
      for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) CHECK(codegen::identity(all[i]) != codegen::identity(all[j]));
      if (number >= all.size()) continue;
      codegen::Schedule schedule = all[number];
      schedule.outlasting = number % 2 == 1;  // as those of large tensors, which take too long here
      what += codegen::identity(schedule) + "\n";
      sources[k] = codegen::emit(p.kernels[k], schedule, options.target);
      ++others;
    }
    if (what.empty()) break;
    INFO(what);
    std::vector<ir::Array> got;
    for (const runtime::TensorView& v : cuda_on_cpu::run_with(*program, sources, views))
      got.push_back(array_of(v));
    CHECK(mismatch(got, expected) == "");
  }
  return others;
}

const char* const softmax =
    "%e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n  return div(%e, sum(%e, axes=[1], keepdims=true))";

}  // namespace

TEST_CASE("candidates for elements by themselves are right") {
  CHECK(check_candidates("pointwise", "%x: f32[33, 1000]", "return exp(%x)") == 5);
  CHECK(check_candidates("pointwise", "%x: bf16[7, 520], %b: f32[520]", "return add(%x, %b)") >= 3);
  CHECK(check_candidates("pointwise", "%x: f32[5, 1999]",
                         "return neg(flip(slice(%x, ranges=[:, 1:]), axes=[1]))") >= 3);
}

TEST_CASE("candidates for gathers are right") {
  CHECK(check_candidates("pointwise", "%x: bf16[50, 256], %i: int64[41]", "return take(%x, %i, axis=0)") >=
        3);
}

TEST_CASE("candidates for tiles are right") {
  CHECK(check_candidates("tiles", "%x: f32[100, 130], %y: f32[130, 100]",
                         "return add(%x, permute_dims(%y, axes=[1, 0]))") >= 1);
  CHECK(check_candidates("tiles", "%x: bf16[4, 64, 96]", "return neg(permute_dims(%x, axes=[0, 2, 1]))") >=
        1);
}

TEST_CASE("candidates for rows in registers are right") {
  CHECK(check_candidates("team rows", "%x: f32[37, 96]", softmax) >= 3);
  CHECK(check_candidates("team rows", "%x: bf16[5, 2048]", softmax) >= 3);
  CHECK(check_candidates("team rows", "%x: f32[3, 1001]", softmax) >= 3);
  CHECK(check_candidates("team rows", "%x: bf16[3, 1100]", softmax) >= 2);  // half of 96 threads are no warps
}

TEST_CASE("candidates for rows in shared memory, of a block and of a cluster, are right") {
  CHECK(check_candidates("shared rows", "%x: f32[3, 20000]", softmax) >= 3);
  CHECK(check_candidates("shared rows", "%x: bf16[2, 65544]", softmax) >= 3);
  CHECK(check_candidates("shared rows", "%x: f32[3, 33000]",
                         "return sub(%x, max(%x, axes=[1], keepdims=true))") >= 3);
  CHECK(check_candidates("shared rows", "%x: f32[2, 9001]", softmax, "sm_75") >= 2);
  CHECK(check_candidates("shared rows", "%x: bf16[3, 6000], %w: bf16[6000], %b: bf16[6000]",
                         "%d = sub(%x, mul(sum(%x, axes=[1], keepdims=true), 0.000333))\n"
                         "  return add(mul(mul(%d, sum(mul(%d, %d), axes=[1], keepdims=true)), %w), %b)") >=
        2);
  // In pieces.
  CHECK(check_candidates("shared rows", "%x: f32[2, 131072]", softmax, "sm_110") >= 4);
  CHECK(check_candidates("shared rows", "%x: f32[2, 100001]", softmax, "sm_87") >= 2);
}

TEST_CASE("candidates for rows that blocks share, and for those that are too long for anything, are right") {
  CHECK(check_candidates("split rows", "%x: f32[3, 40001]",
                         "return sum(%x, axes=[1]), argmax(%x, axes=[1])") >= 3);
  CHECK(check_candidates("split rows", "%x: bf16[100000]", "return sum(%x)") >= 3);
  CHECK(check_candidates("team rows", "%x: f64[17, 5501], %y: f64[17, 5501], %z: f64[17, 5501]",
                         "return sum(mul(mul(%x, %y), %z), axes=[1])", "sm_87") >= 2);
}

TEST_CASE("candidates for columns are right") {
  CHECK(check_candidates("team columns", "%x: f32[5000, 100]",
                         "return sum(%x, axes=[0]), max(%x, axes=[0])") >= 3);
  CHECK(check_candidates("team columns", "%x: bf16[70, 264]",
                         "return div(%x, sum(%x, axes=[0], keepdims=true))") >= 2);
  CHECK(check_candidates("team columns", "%x: f32[9000, 36]",
                         "return sub(%x, max(%x, axes=[0], keepdims=true))") >= 3);
  CHECK(check_candidates("team columns", "%x: f32[40, 12, 64]", "return argmin(%x, axes=[1])") >= 1);
}

TEST_CASE("candidates for rows and across them are right") {
  const char* const body =
      "%d = mul(%x, sum(mul(%x, %y), axes=[1], keepdims=true))\n"
      "  return %d, sum(mul(%x, %y), axes=[0])";
  CHECK(check_candidates("rows across", "%x: bf16[400, 2048], %y: bf16[400, 2048]", body) >= 2);
  CHECK(check_candidates("rows across", "%x: f32[300, 100], %y: f32[300, 100]", body) >= 1);
  // Of seven warps, and three.
  CHECK(check_candidates("rows across", "%x: bf16[300, 1544], %y: bf16[300, 1544]", body) >= 2);
  CHECK(check_candidates("rows across", "%x: f32[700, 300], %y: f32[700, 300]", body) >= 1);
  // Copied with their neighbours.
  CHECK(check_candidates("rows across", "%x: bf16[400, 2047], %y: bf16[400, 2047]", body) >= 2);
  CHECK(check_candidates("rows across", "%x: f32[397, 1001], %y: f32[397, 1001]", body) >= 2);
  CHECK(check_candidates("rows across", "%x: bf16[399, 1546], %y: bf16[399, 1546]", body) >= 2);
  CHECK(check_candidates("rows across", "%x: f64[299, 333], %y: f64[299, 333]", body) >= 2);
  CHECK(check_candidates("rows across", "%x: int8[299, 1235]",
                         "return sum(%x, axes=[0]), sum(%x, axes=[1])") >= 2);
  CHECK(check_candidates("rows across", "%x: bf16[300, 1001], %y: bf16[301, 999]",
                         "%a = slice(%x, ranges=[:, 1:1000])\n  %b = slice(%y, ranges=[1:, :])\n"
                         "  %p = mul(%a, %b)\n"
                         "  return mul(%a, sum(%p, axes=[1], keepdims=true)), sum(%p, axes=[0])") >= 2);
  // Read where they have been copied to.
  CHECK(check_candidates("rows across", "%x: f32[400, 8192], %y: f32[400, 8192]", body) >= 2);
  CHECK(check_candidates("rows across", "%x: bf16[140, 20001], %y: bf16[140, 20001]", body) >= 2);
}

TEST_CASE("where the order of folds is fixed there is nothing to choose") {
  runtime::ProgramOptions options;
  options.numerics = Numerics::strict;
  options.target = codegen::Target::cuda("sm_90a");
  const auto program = runtime::Program::build(
      ir::parse(fmt::format("graph @g(%x: f32[512, 4096], %y: f32[1000]) {{\n  {}, exp(%y)\n}}\n", softmax)),
      options);
  CHECK(program->impl().kernels.size() == 2);
  const codegen::DeviceDescription& device = codegen::describe(options.target);
  for (std::size_t k = 0; k < program->impl().kernels.size(); ++k) {
    const codegen::Kernel& kernel = program->impl().kernels[k];
    const std::size_t count = codegen::candidates(kernel, program->impl().sources[k].schedule, device).size();
    CHECK((kernel.has_reduction() ? count == 1 : count > 1));
  }
}
