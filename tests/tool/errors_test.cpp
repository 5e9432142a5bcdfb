// The user's mistakes: exit code 1, one message on standard error that names the mistake, nothing on standard
// output, and nothing half-written.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "tests/catch.h"
#include "tests/support/places.h"
#include "tests/support/sandbox.h"
#include "tests/tool/tool.h"

using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const ToolRun run = run_tool(arguments);
  std::string line;
  for (const std::string& argument : arguments) line += " " + argument;
  INFO("sinter" << line << "\n" << run.err);
  CHECK(run.exit_code == 1);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("sinter: "));
  CHECK_THAT(run.err, ContainsSubstring(message));
}

}  // namespace

TEST_CASE("words that are no verbs, options or workloads are named") {
  check_refused({}, "a verb is missing");
  check_refused({}, "times eager against fused");
  check_refused({"fuse"}, "there is no verb \"fuse\"; there are list, run, bench");
  check_refused({"list", "--colour"}, "--colour");
  check_refused({"explain"}, "WHAT");
  check_refused({"explain", "sofmax"}, "did you mean softmax?");
  check_refused({"explain", "something/else"}, "neither a workload nor a file");
  check_refused({"run", "attention_of_another_kind"}, "`sinter list`");
  check_refused({"bench", "gelu", "nothing_of_ours"}, "nothing_of_ours");
  check_refused({"cache"}, "removes every entry");
  check_refused({"cache", "burn"}, "burn");
}

TEST_CASE("values of options that do not exist are named with those that do") {
  check_refused({"explain", "gelu", "--target", "rocm"}, "cpu");
  check_refused({"explain", "gelu", "--numerics", "sloppy"}, "strict");
  check_refused({"run", "gelu", "--mode", "quick"}, "reference");
  check_refused({"dot", "gelu", "--stage", "lowered"}, "optimized");
  check_refused({"explain", "gelu", "--arch", "gfx90a"}, "gfx90a");
  check_refused({"explain", "gelu", "--arch", ""}, "--arch: it takes a text that is not empty");
  check_refused({"run", "gelu", "--device="}, "--device");
  check_refused({"run", "gelu", "--output-dir", ""}, "--output-dir: it takes a text that is not empty");
  check_refused({"explain", "gelu", "--target", "cpu", "--arch", "sm_90a"}, "--target cuda");
  check_refused({"run", "gelu", "--seed", "-1"},
                "--seed: it takes a whole number, 0 or more, and not \"-1\"");
  for (const char* text : {"0", "-1", "x", "inf", "1s"})
    check_refused({"bench", "gelu", "--seconds", text},
                  fmt::format("--seconds: it takes a number above 0, and not \"{}\"", text));
  check_refused({"source", "gelu", "--target", "cpu", "--ptx"}, "--target cuda");
}

TEST_CASE("--set names what it takes") {
  check_refused({"explain", "gelu", "--set", "rows"}, "NAME=VALUE");
  check_refused({"explain", "gelu", "--set", "=3"}, "NAME=VALUE");
  check_refused({"explain", "gelu", "--set", "layers=3"}, "gelu has rows, cols, dtype");
  check_refused({"explain", "gelu", "--set", "rows=-1"}, "whole number");
  check_refused({"explain", "gelu", "--set", "rows=4x"}, "whole number");
  check_refused({"explain", "gelu", "--set", "rows=99999999999999999999"}, "whole number");
  check_refused({"explain", "mlp", "--set", "layers=0"}, "1 or more");
  check_refused({"explain", "gelu", "--set", "dtype=int32"}, "bf16");
  check_refused({"explain", "gelu", "--set", "dtype=float"}, "bf16");
  check_refused({"run", "gelu", "--set", "rows=1000000000", "--set", "cols=1000000000"},
                "larger than any memory");
  check_refused({"run", "gelu", "--set", "rows=M"}, "has no value");
}

TEST_CASE("a graph that does not parse is shown with file, line and place") {
  const TemporaryDirectory directory;
  const std::string file =
      directory.write("bad.graph", "graph @f(%x: f32[4]) {\n  %0 = tanhh(%x)\n  return %0\n}\n");
  check_refused({"explain", file}, file + ":2:");
  check_refused({"explain", file}, "tanhh");
  const std::string shapes = directory.write(
      "shapes.graph", "graph @f(%x: f32[4], %y: f32[5]) {\n  %0 = add(%x, %y)\n  return %0\n}\n");
  check_refused({"run", shapes}, "f32[5]");
  check_refused({"explain", directory.write("empty.graph", "")}, "empty.graph");
  const std::string twins =
      directory.write("twins.graph", "graph @f(%x: f32[4]) {\n  return total=%x, total=%x\n}\n");
  check_refused({"run", twins}, twins + ":2:20: there is a result named total already");
  check_refused({"explain", directory.path()}, "directory");
}

TEST_CASE("lengths that break what a graph says of them are refused") {
  const TemporaryDirectory directory;
  const std::string file = directory.write(
      "f.graph", "graph @f(%x: f32[M, 4]) where M % 8 == 0 {\n  %0 = tanh(%x)\n  return %0\n}\n");
  check_refused({"explain", file, "--set", "M=12"}, "multiple of 8");
  check_refused({"explain", file, "--set", "N=16"}, "there is no N to set");
  check_refused({"explain", file, "--set", "M=many"}, "whole number");
  check_refused({"run", file}, "has the length M, which has no value; give it one (--set M=...)");
  const std::string formula =
      directory.write("g.graph", "graph @g(%x: f32[2*M + N]) {\n  %0 = exp(%x)\n  return %0\n}\n");
  check_refused({"run", formula}, "(--set M=... --set N=...)");
}

TEST_CASE("a device that is not there is refused, whatever it is asked for") {
  check_refused({"run", "gelu", "--device", "cuda:9"}, "device cuda:9");
  check_refused({"bench", "gelu", "--device", "tpu"}, "cpu");
  check_refused({"run", "gelu", "--device", "tpu"}, "cpu");
}

TEST_CASE("inputs that are missing, damaged or of another kind are refused") {
  const TemporaryDirectory directory;
  const std::string text = directory.write("text.npy", "these are no numbers");
  check_refused({"run", "gelu", "--input", "x"}, "NAME=FILE.npy");
  check_refused({"run", "gelu", "--input", "y=" + text}, "it has x");
  check_refused({"run", "gelu", "--input", "x=" + (directory / "absent.npy")}, "absent.npy");
  check_refused({"run", "gelu", "--input", "x=" + text}, "text.npy");
  check_refused({"run", "gelu", "--input", "x=" + directory.path()}, directory.path() + " is a directory");
  check_refused({"bench", "--batch", directory.path()}, directory.path() + " is a directory");
}

TEST_CASE("nothing is left of output that cannot be written") {
  const TemporaryDirectory directory;
  const std::string file = directory.write("file", "");
  check_refused({"run", "gelu", "--set", "rows=2", "--set", "cols=2", "--output-dir", file + "/below"},
                "--output-dir");
  check_refused({"dot", "gelu", "-o", directory / "absent/gelu.dot"}, "absent/gelu.dot");
  CHECK(directory.names() == std::vector<std::string>{"file"});

  // The place of the second output is taken by a directory: the first is not written either.
  const std::string graph =
      directory.write("two.graph", "graph @two(%x: f32[2]) {\n  %0 = tanh(%x)\n  return %0, %x\n}\n");
  const TemporaryDirectory results;
  std::filesystem::create_directory(results / "out1.npy");
  check_refused({"run", graph, "--output-dir", results.path()}, "out1.npy");
  CHECK(results.names() == std::vector<std::string>{"out1.npy"});
}

TEST_CASE("output that nobody takes is an error") {
  const std::string command = fmt::format("'{}' list >/dev/full 2>/dev/null", built_file(SINTER_TOOL));
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 1);
}
