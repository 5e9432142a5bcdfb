// Programs put together from the fastest candidates, on a device that runs nothing and takes what time the
// test says.
#include "runtime/tune.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "ir/parse.h"
#include "runtime/compile_error.h"
#include "sinter/error.h"
#include "tests/catch.h"
#include "tests/support/pretended_gpu.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using namespace sinter::runtime;
using sinter::testing::CapturedLog;
using sinter::testing::PretendedGpu;
using sinter::testing::ScopedEnvironment;
using sinter::testing::TemporaryDirectory;

namespace {

class NamedKernel final : public LoadedKernel {};

/// Compiles anything but what has the word in it.
class NoCompiler final : public Toolchain {
 public:
  explicit NoCompiler(std::string refused = "no such word") : refused_(std::move(refused)) {}
  bool usable() const override { return true; }
  const std::string& reason() const override { return refused_; }
  std::string identity(const codegen::Target&) const override { return "no compiler 1.0"; }
  std::string compile(const KernelSpec& spec) const override {
    if (spec.source.find(refused_) != std::string::npos) throw CompileError("kernel " + spec.name);
    return "nothing";
  }
  std::shared_ptr<const LoadedKernel> load(const KernelSpec&, std::string_view) const override {
    return std::make_shared<const NamedKernel>();
  }

 private:
  std::string refused_;
};

/// A program, and all that its tuning takes.
struct World {
  explicit World(const std::string& graph, const std::string& directory = "",
                 std::unique_ptr<const Toolchain> toolchain = std::make_unique<const NoCompiler>())
      : cache(DiskCacheOptions{directory}, std::move(toolchain)), book(cache.disk()) {
    ProgramOptions options;
    options.target = codegen::Target::cuda("sm_90a");
    program = Program::build(ir::parse(graph), options);
    for (ir::Value v : program->optimized().inputs()) {
      const ir::Shape& shape = program->optimized().shape(v);
      const auto buffer =
          Buffer::allocate(shape.elements().value() * size_of(program->optimized().dtype(v)), gpu);
      memory.push_back({buffer, buffer->data()});
    }
    for (const Location& input : memory) inputs.push_back(&input);
  }

  Program::Impl::Tuning tuning(const std::string& name = "pretended") {
    return tuning_of(program->impl(), name, cache.toolchain(codegen::Backend::cuda));
  }
  std::unique_ptr<Program::Impl::Tuned> tune() {
    return runtime::tune(program->impl(), tuning(), gpu, inputs, cache, book);
  }

  PretendedGpu gpu;
  KernelCache cache;
  ChoiceBook book;
  std::shared_ptr<const Program> program;
  std::vector<Location> memory;
  std::vector<const Location*> inputs;  // into it
};

const char* const elementwise = "graph @f(%x: f32[1024, 1024]) {\n  return exp(%x)\n}\n";
const char* const two_kernels =
    "graph @f(%x: f32[1024, 1024], %y: f32[1024, 1024]) {\n  %a = matmul(exp(%x), %y)\n  return "
    "tanh(%a)\n}\n";

}  // namespace

TEST_CASE("the program runs by the candidate that was fastest") {
  World w(elementwise);
  w.gpu.seconds[512] = 0.7e-3;
  const auto tuned = w.tune();
  REQUIRE(tuned);
  CHECK(w.gpu.timed > 10);
  CHECK(w.program->impl().sources[0].schedule.block_threads == 256);
  CHECK(tuned->sources[0].schedule.block_threads == 512);
  REQUIRE(tuned->choices[0]);
  CHECK(tuned->choices[0]->candidate > 0);
  CHECK(tuned->choices[0]->ms == Approx(0.7));
  CHECK(tuned->choices[0]->untuned_ms == Approx(1));
  w.gpu.launched.clear();
  CHECK(tuned->executable->run(w.gpu, w.inputs, tuned->kernels).size() == 1);
  CHECK(w.gpu.launched.size() == 1);
}

TEST_CASE("a default that is as fast as the others stays") {
  World w(elementwise);
  const auto tuned = w.tune();
  REQUIRE(tuned);
  CHECK(tuned->sources[0].text == w.program->impl().sources[0].text);
  CHECK(tuned->choices[0]->candidate == 0);
}

TEST_CASE("every kernel of a program is tuned for itself, and products are run for those behind them") {
  World w(two_kernels);
  w.gpu.seconds[1024] = 0.5e-3;
  const auto tuned = w.tune();
  REQUIRE(tuned);
  REQUIRE(tuned->sources.size() == 2);
  for (const codegen::KernelSource& s : tuned->sources) CHECK(s.schedule.block_threads == 1024);
}

TEST_CASE("a choice serves the next process, which times nothing") {
  const TemporaryDirectory directory;
  {
    World w(elementwise, directory / "c");
    w.gpu.seconds[128] = 0.7e-3;
    REQUIRE(w.tune());
  }
  World next(elementwise, directory / "c");
  const auto tuned = next.tune();
  REQUIRE(tuned);
  CHECK(next.gpu.timed == 0);
  CHECK(tuned->sources[0].schedule.block_threads == 128);
  CHECK(next.cache.counters().compilations == 0);
}

TEST_CASE("a choice is for one kernel, of one length, on one kind of GPU, by one compiler") {
  World w(elementwise);
  const std::string key = w.tuning().keys.at(0);
  CHECK(w.tuning().keys.at(0) == key);
  CHECK(w.tuning("another").keys.at(0) != key);
  CHECK(World("graph @f(%x: f32[1024, 2048]) {\n  return exp(%x)\n}\n").tuning().keys.at(0) != key);
  CHECK(World("graph @f(%x: f32[1024, 1024]) {\n  return tanh(%x)\n}\n").tuning().keys.at(0) != key);
  CHECK(World("graph @f(%x: f16[1024, 1024]) {\n  return exp(%x)\n}\n").tuning().keys.at(0) != key);
  CHECK(key.find("no compiler 1.0") != key.npos);
  CHECK(key.find(SINTER_VERSION) != key.npos);
}

TEST_CASE("candidates that do not compile or fit are left out") {
  World w(elementwise, "", std::make_unique<const NoCompiler>("__launch_bounds__(512)"));
  w.gpu.seconds = {{512, 0.1e-3}, {1024, 0.2e-3}, {128, 0.5e-3}};
  w.gpu.refused_threads = 1024;
  const auto tuned = w.tune();
  REQUIRE(tuned);
  CHECK(tuned->sources[0].schedule.block_threads == 128);
}

TEST_CASE("a program that does not compile is an error, tuned or not") {
  World w(elementwise, "", std::make_unique<const NoCompiler>("__launch_bounds__(256)"));
  CHECK_THROWS_AS(w.tune(), CompileError);
}

TEST_CASE("nothing is timed while a stream is captured") {
  World w(elementwise);
  w.gpu.captures = true;
  CHECK(!w.tune());
  CHECK(w.gpu.launched.empty());
}

TEST_CASE("small kernels and those that share launches keep their schedules") {
  World small("graph @f(%x: f32[16, 1024]) {\n  return exp(%x)\n}\n");
  CHECK(small.tuning().candidates.at(0).size() == 1);
  REQUIRE(small.tune());
  CHECK(small.gpu.timed == 0);
  World many(
      "graph @f(%x: f32[1024, 1024], %y: f32[2048, 1024], %z: f32[1024, 4096]) {\n"
      "  return exp(%x), exp(%y), exp(%z)\n}\n");
  REQUIRE(many.program->launches() == 1);
  for (const auto& candidates : many.tuning().candidates) CHECK(candidates.size() == 1);
}

TEST_CASE("on the CPU SINTER_AUTOTUNE is said to do nothing") {
  const ScopedEnvironment tuned{{"SINTER_AUTOTUNE", "1"}};
  const CapturedLog log;
  Program::build(ir::parse(elementwise), {})->prepare();
  CHECK(log.count("SINTER_AUTOTUNE is set, and programs that run on the CPU are not tuned") == 1);
}
