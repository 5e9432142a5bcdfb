// In what order a run asks for memory and launches.
#include "runtime/executable.h"

#include "ir/parse.h"
#include "runtime/program_impl.h"
#include "tests/catch.h"
#include "tests/support/pretended_gpu.h"

using namespace sinter;
using namespace sinter::runtime;
using sinter::testing::PretendedGpu;

namespace {

class NamedKernel final : public LoadedKernel {};

/// A program for a GPU, and its inputs.
struct World {
  explicit World(const std::string& graph) {
    ProgramOptions options;
    options.target = codegen::Target::cuda("sm_90a");
    program = Program::build(ir::parse(graph), options);
    for (ir::Value v : program->optimized().inputs()) {
      const auto buffer = Buffer::allocate(
          program->optimized().shape(v).elements().value() * size_of(program->optimized().dtype(v)), gpu);
      memory.push_back({buffer, buffer->data()});
    }
    for (const Location& input : memory) inputs.push_back(&input);
    for (std::size_t i = 0; i < program->impl().sources.size(); ++i)
      kernels.push_back(std::make_shared<const NamedKernel>());
  }
  std::vector<Location> run() { return program->impl().executable->run(gpu, inputs, kernels); }

  PretendedGpu gpu;
  std::shared_ptr<const Program> program;
  std::vector<Location> memory;
  std::vector<const Location*> inputs;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels;
};

const char* const two_steps =
    "graph @f(%x: f32[64, 64], %y: f32[64, 64]) {\n"
    "  %0 = exp(%x)\n  %1 = sum(%y, axes=[1])\n  return %1, %0, %1\n}\n";

}  // namespace

TEST_CASE("a step is launched before the memory of later ones is asked for") {
  World w(two_steps);
  REQUIRE(w.program->launches() == 2);
  const std::int64_t before = host_allocator().stats().requests;
  std::vector<std::int64_t> requests;
  w.gpu.on_launch = [&] { requests.push_back(host_allocator().stats().requests - before); };
  const std::vector<Location> outputs = w.run();
  CHECK(requests == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("outputs come in the order of the graph, whatever step writes them") {
  World w(two_steps);
  const std::vector<Location> outputs = w.run();
  REQUIRE(outputs.size() == 3);
  CHECK(outputs[0].buffer->bytes() == 64 * 4);
  CHECK(outputs[1].buffer->bytes() == 64 * 64 * 4);
  CHECK(outputs[2].buffer == outputs[0].buffer);
  const auto& layouts = w.program->output_layouts();
  REQUIRE(layouts.size() == 3);
  CHECK(layouts[0]->strides() == std::vector<std::int64_t>{1});
  CHECK(layouts[1]->strides() == std::vector<std::int64_t>{64, 1});
}

TEST_CASE("memory that runs out between two steps is an error, and all of it comes back") {
  World w(two_steps);
  const std::int64_t in_use = host_allocator().stats().in_use;
  host_allocator().fail_request(2);
  CHECK_THROWS_AS(w.run(), DeviceError);
  CHECK(w.gpu.launched.size() == 1);
  CHECK(host_allocator().stats().in_use == in_use);
}
