// Autotuning on a GPU, from the setting to the entry in the cache.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <thread>

#include "ir/parse.h"
#include "runtime/stream_scope.h"
#include "runtime/tune.h"
#include "sinter/sinter.h"
#include "tests/catch.h"
#include "tests/support/drawn.h"
#include "tests/support/error_bounds.h"
#include "tests/support/gpu.h"
#include "tests/support/run_program.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

const char* const softmax =
    "%e = exp(sub(%x, max(%x, axes=[1], keepdims=true)))\n"
    "  %s = div(%e, sum(%e, axes=[1], keepdims=true))\n"
    "  return %s, sum(mul(%s, %x), axes=[0]), tanh(permute_dims(%x, axes=[1, 0]))";

std::string graph(int rows) {
  return fmt::format("graph @tuned(%x: f32[{}, 256]) {{\n  {}\n}}\n", rows, softmax);
}

std::shared_ptr<const runtime::Program> built(const std::string& text,
                                              Numerics numerics = Numerics::standard) {
  return runtime::Program::build(ir::parse(text), program_options(numerics));
}

/// As if the graph's kernels had never been timed: the cache on disk may be that of an earlier run.
void forget_choices(const std::string& text) {
  const ScopedEnvironment untuned{{"SINTER_AUTOTUNE", "0"}};
  runtime::KernelCache& cache = runtime::kernel_cache();
  const auto tuning = runtime::tuning_of(built(text)->impl(), need_gpu().description(),
                                         cache.toolchain(codegen::Backend::cuda));
  for (const std::string& key : tuning.keys) cache.disk().drop(key);
}

ir::Array drawn_rows(std::int64_t rows) {
  return drawn(f32, {rows, 256}, 3);
}

std::vector<ir::Array> run(const runtime::Program& program, const runtime::TensorView& x) {
  std::vector<ir::Array> results;
  for (const runtime::TensorView& v : program.run(std::array{x})) results.push_back(array_of(v));
  return results;
}

bool same(const std::vector<ir::Array>& a, const std::vector<ir::Array>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].data != b[i].data) return false;
  return a.size() == b.size();
}

}  // namespace

TEST_CASE("SINTER_AUTOTUNE times kernels at the first run, and keeps what it found") {
  const RunsOn gpu(need_gpu());
  const ScopedEnvironment tuned{{"SINTER_AUTOTUNE", "1"}, {"SINTER_LOG", "timing"}};
  const ir::Array x = drawn_rows(1001);
  const runtime::TensorView on_gpu = view_of(x);
  const std::vector<Bounded> expected = evaluate_bounded(ir::parse(graph(1001)), std::array{x});
  forget_choices(graph(1001));
  const CapturedLog log;
  const auto program = built(graph(1001));
  const std::vector<ir::Array> first = run(*program, on_gpu);
  CHECK(mismatch(first, expected) == "");
  INFO(program->explain() << log.text());
  CHECK(program->explain().find("tuned    candidate ") != std::string::npos);
  CHECK(program->explain_json().find("untuned_ms") != std::string::npos);
  for (int i = 0; i < 3; ++i) CHECK(same(run(*program, on_gpu), first));
  // What is built later finds the choices, and times nothing.
  const int timed = log.count("untuned");
  CHECK(timed > 0);
  const auto again = built(graph(1001));
  CHECK(again->explain().find("tuned    candidate ") != std::string::npos);
  CHECK(again->source() == program->source());
  CHECK(same(run(*again, on_gpu), first));
  CHECK(log.count("untuned") == timed);
}

TEST_CASE("what strict programs compute does not depend on tuning") {
  const RunsOn gpu(need_gpu());
  const runtime::TensorView x = view_of(drawn_rows(1002));
  const std::vector<ir::Array> plain = run(*built(graph(1002), Numerics::strict), x);
  const ScopedEnvironment tuned{{"SINTER_AUTOTUNE", "1"}};
  CHECK(same(run(*built(graph(1002), Numerics::strict), x), plain));
}

TEST_CASE("nothing is tuned while a stream is captured, but by the next call") {
  const RunsOn gpu(need_gpu());
  const ScopedEnvironment tuned{{"SINTER_AUTOTUNE", "1"}};
  forget_choices(graph(1003));
  const auto program = built(graph(1003));
  program->prepare();
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  runtime::TensorView x;
  {
    const StreamScope scope(stream, Device("cuda"));
    x = view_of(drawn_rows(1003));  // what a graph reads belongs to its stream
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    const auto results = program->run(std::array{x});
    CHECK(program->explain().find("tuned    candidate ") == std::string::npos);
    cudaGraph_t captured = nullptr;
    CHECK(cudaStreamEndCapture(stream, &captured) == cudaSuccess);
    REQUIRE(captured != nullptr);
    cudaGraphDestroy(captured);
  }
  static_cast<void>(program->run(std::array{x}));
  CHECK(program->explain().find("tuned    candidate ") != std::string::npos);
  runtime::synchronize_all();
  x = {};
  cudaStreamDestroy(stream);
}

TEST_CASE("threads that call a program for the first time together get one tuning and right results") {
  const RunsOn gpu(need_gpu());
  const ScopedEnvironment tuned{{"SINTER_AUTOTUNE", "1"}, {"SINTER_LOG", "timing"}};
  const ir::Array x = drawn_rows(1005);
  const runtime::TensorView on_gpu = view_of(x);
  forget_choices(graph(1005));
  const CapturedLog log;
  const auto program = built(graph(1005));
  std::vector<std::vector<ir::Array>> results(8);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = run(*program, on_gpu); });
  for (std::thread& t : threads) t.join();
  const std::vector<Bounded> expected = evaluate_bounded(ir::parse(graph(1005)), std::array{x});
  CHECK(mismatch(results[0], expected) == "");
  for (const auto& result : results) CHECK(same(result, results[0]));
  std::size_t kernels = 0;
  REQUIRE(program->impl().tuned.load());
  for (const auto& choice : program->impl().tuned.load()->choices) kernels += choice.has_value();
  CHECK(log.count("untuned") == static_cast<int>(kernels));
}
