// Programs looked at without running them.
#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/frontend/tensors.h"
#include "tests/support/sandbox.h"

using namespace sinter;
using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const auto scaled = [](Tensor x, Tensor s) { return exp(x) * s; };

}  // namespace

TEST_CASE("lower gives the program for specifications, with symbols for lengths") {
  const auto f = compile(scaled, {.name = "scaled"});
  const Program program = f.lower(TensorSpec{f32, {"M", 4096}}, TensorSpec{bf16, {4096}});
  CHECK_THAT(program.text(), ContainsSubstring("f32[M, 4096]") && ContainsSubstring("bf16[4096]") &&
                                 ContainsSubstring("exp("));
  CHECK_THAT(program.text(Stage::optimized), ContainsSubstring("exp("));
  CHECK(program.launches() == 1);
  CHECK(f.programs().empty());
}

TEST_CASE("lower takes tensors and numbers for parameters, too") {
  const auto f = compile([](Tensor x, int n, Tensor s) { return x * n + s; });
  CHECK_THAT(f.lower(ones({3}), 2, 0.5).text(), ContainsSubstring("f32[3]") && ContainsSubstring("f32[]"));
}

TEST_CASE("lower prints source for the CPU and for CUDA") {
  const auto f = compile(scaled);
  const TensorSpec spec{f32, {64, 64}};
  CHECK_THAT(f.lower(spec, spec).source(), ContainsSubstring("exp"));
  const std::string cuda = f.lower(spec, spec, Target{"sm_90a"}).source();
  CHECK_THAT(cuda, ContainsSubstring("__global__"));
}

TEST_CASE("unknown targets and lengths that are none are refused") {
  const auto f = compile([](Tensor x) { return x * 2.0; });
  CHECK_THROWS_AS(f.lower(TensorSpec{f32, {3}}, Target{"mips"}), ValueError);
  CHECK_THROWS_AS(f.lower(TensorSpec{f32, {3}}, Target{"sm_"}), ValueError);
  CHECK_THROWS_AS(f.lower(TensorSpec{f32, {-3}}), ShapeError);
  CHECK_THROWS_AS(f.lower(TensorSpec{f32, {"M +"}}), ValueError);
}

TEST_CASE("lengths without a value cannot be asked for") {
  const auto f = compile([](Tensor x) { return x * x.length(0); });
  CHECK_THROWS_AS(f.lower(TensorSpec{f32, {"M"}}), UnsupportedError);
  CHECK_NOTHROW(f.lower(TensorSpec{f32, {3}}));
  CHECK_THROWS_AS(compile([](Tensor x) { return x * x.size(); }).lower(TensorSpec{f32, {"M"}}),
                  UnsupportedError);
}

TEST_CASE("the function's own texts cover the programs that calls have made") {
  const auto f = compile(scaled, {.name = "scaled"});
  CHECK_THROWS_WITH(f.explain(), ContainsSubstring("scaled has no programs yet"));
  f(ones({3}), 2.0);
  const std::string one = f.explain();
  f(ones({4, 5}), 2.0);
  const std::string two = f.explain();
  CHECK_THAT(two, ContainsSubstring("program 1 of 2") && ContainsSubstring("program 2 of 2"));
  CHECK_THAT(two, ContainsSubstring(one));
  CHECK(f.json().front() == '[');
}

TEST_CASE("what became of a graph is left in the directory of SINTER_DUMP") {
  const TemporaryDirectory directory;
  const ScopedEnvironment environment{{"SINTER_DUMP", directory.path()}};
  compile(scaled, {.name = "scaled"}).lower(TensorSpec{f32, {8}}, TensorSpec{f32, {8}});
  std::vector<std::string> ends;
  for (const std::string& name : directory.names()) ends.push_back(name.substr(name.find('_')));
  for (const char* end :
       {"_scaled_00_captured.txt", "_scaled_captured.dot", "_scaled_fused.dot", "_scaled_source.cpp"})
    CHECK(std::ranges::find(ends, end) != ends.end());
  for (const std::string& name : directory.names())
    CHECK(name.substr(0, 4) == directory.names()[0].substr(0, 4));
}

TEST_CASE("a DOT file is written whole, for every stage") {
  const auto f = compile(scaled);
  f(ones({3}), 2.0);
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "sinter-program-test.dot";
  for (const Stage stage : {Stage::captured, Stage::optimized, Stage::fused}) {
    f.write_dot(path.string(), stage);
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    CHECK_THAT(text, ContainsSubstring("digraph") && ContainsSubstring("}"));
  }
  std::filesystem::remove(path);
  CHECK_THROWS_AS(f.write_dot("/no/such/directory/f.dot"), ValueError);
}
