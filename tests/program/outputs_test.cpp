// What programs hand back, what they need not compute, threads that share one, and machines without a
// compiler.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "runtime/kernel_cache.h"
#include "runtime/subprocess.h"
#include "tests/program/check.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using namespace sinter::testing;

TEST_CASE("outputs may be views of what is stored, or of inputs, and nothing is launched for them") {
  const ir::Array x = whole_numbers(f32, {3, 4});
  const auto program = runtime::Program::build(
      ir::parse("graph @views(%x: f32[3, 4]) {\n  %y = permute_dims(%x, axes=[1, 0])\n  return %x, %y, "
                "slice(%x, ranges=[1:, ::-2]), broadcast_to(%x, shape=[2, 3, 4])\n}\n"),
      program_options());
  CHECK(program->launches() == 0);
  const runtime::TensorView input = view_of(x);
  const std::vector<runtime::TensorView> got = program->run(std::vector{input});
  for (const runtime::TensorView& v : got) CHECK(v.buffer == input.buffer);
  CHECK(got[0].data == input.data);
  CHECK(got[1].strides == std::vector<std::int64_t>{1, 4});
  CHECK(numbers_of(array_of(got[2])) ==
        std::vector<double>{numbers_of(x)[7], numbers_of(x)[5], numbers_of(x)[11], numbers_of(x)[9]});
  CHECK(got[3].strides == std::vector<std::int64_t>{0, 4, 1});
}

TEST_CASE("a view of a computed value shares its memory") {
  const auto program = runtime::Program::build(ir::parse("graph @g(%x: f32[3, 4]) {\n  %y = add(%x, 1)\n  "
                                                         "return %y, permute_dims(%y, axes=[1, 0]), %y\n}\n"),
                                               program_options());
  CHECK(program->launches() == 1);
  const ir::Array x = whole_numbers(f32, {3, 4});
  const std::vector<runtime::TensorView> got = program->run(std::vector{view_of(x)});
  REQUIRE(got.size() == 3);
  CHECK(array_of(got[0]).data == array_of(got[2]).data);
  CHECK(array_of(got[1]).at(1) == array_of(got[0]).at(4));
}

TEST_CASE("inputs that nothing reads and constants need no kernels") {
  const ir::Graph g = ir::parse("graph @g(%x: f32[2], %unused: int8[5]) {\n  return add(%x, 1), 2.5\n}\n");
  CHECK(off_exact(g, {whole_numbers(f32, {2}), whole_numbers(int8, {5})}) == "");
  const ir::Graph nothing = ir::parse("graph @g(%x: f32[0, 3]) {\n  return exp(%x), sum(%x, axes=[1])\n}\n");
  CHECK(off_exact(nothing, {ir::Array(f32, {0, 3})}) == "");
  CHECK(runtime::Program::build(ir::without_dead_nodes(nothing), {})->launches() == 0);
}

TEST_CASE("inputs of another number, dtype or shape are refused") {
  const auto program = runtime::Program::build(ir::parse("graph @g(%x: f32[2]) {\n  return add(%x, 1)\n}\n"),
                                               program_options());
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(program->run({}), ContainsSubstring("takes 1 tensors, got 0"));
  CHECK_THROWS_WITH(program->run(std::vector{view_of(ir::Array(f32, {3}))}),
                    ContainsSubstring("input 0 must be f32[2]"));
  CHECK_THROWS_WITH(program->run(std::vector{view_of(ir::Array(int32, {2}))}),
                    ContainsSubstring("input 0 must be f32[2]"));
}

TEST_CASE("many threads run one program at once") {
  const ir::Graph g = ir::parse(
      "graph @shared(%x: f32[70, 3001]) {\n  %m = max(%x, axes=[1], keepdims=true)\n  %d = sub(%x, %m)\n"
      "  %s = sum(%d, axes=[1], keepdims=true)\n  return add(%d, %s), sum(%x, axes=[0])\n}\n");
  const ir::Array x = whole_numbers(f32, {70, 3001});
  const std::vector<ir::Exact> expected = ir::evaluate_reference(g, std::vector{x});
  const auto program = runtime::Program::build(ir::without_dead_nodes(g), program_options());
  const runtime::TensorView input = view_of(x);
  const std::vector<ir::Array> right{expected[0].rounded(), expected[1].rounded()};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int run = 0; run < 50; ++run) {
        const std::vector<runtime::TensorView> got = program->run(std::vector{input});
        for (std::size_t i = 0; i < got.size(); ++i) wrong += array_of(got[i]).data != right[i].data;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("without a compiler the typed evaluator takes over, with one warning") {
  const char* const name = "without a compiler the typed evaluator takes over, with one warning";
  const char* const own = std::getenv("SINTER_CXX");
  if (own == nullptr || std::string(own) != "/nonexistent/c++") {
    // The compiler of a process is found once, so this needs a process of its own.
    runtime::Command command{
        {"/proc/self/exe", "without a compiler the typed evaluator takes over\\, with one warning"}};
    command.environment = {{"SINTER_CXX", "/nonexistent/c++"}};
    const runtime::Outcome outcome = runtime::run_program(command);
    INFO(name << ": " << outcome.describe() << "\n" << outcome.out << outcome.err);
    CHECK(outcome.ok());
    return;
  }
  const CapturedLog log;
  const RunsOn cpu(runtime::cpu_device());
  const ir::Graph g = ir::parse(
      "graph @g(%x: f32[2, 3]) {\n  %y = permute_dims(%x, axes=[1, 0])\n  return add(%y, 1), sum(%x, "
      "axes=[1])\n}\n");
  for (int run = 0; run < 3; ++run) CHECK(off_exact(g, {whole_numbers(f32, {2, 3})}) == "");
  CHECK(log.count("there is no C++ compiler") == 1);
  CHECK(log.lines().size() == 1);
  CHECK(runtime::kernel_cache().counters().compilations == 0);
}
