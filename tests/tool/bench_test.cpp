// bench: what it reports, not how fast anything is.
#include <filesystem>
#include <sstream>

#include "tests/catch.h"
#include "tests/support/gpu.h"
#include "tests/support/sandbox.h"
#include "tests/tool/tool.h"

using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string> bench(std::vector<std::string> words, const std::string& device = "cpu") {
  words.insert(words.begin(), "bench");
  for (const char* word : {"--seconds", "0.05", "--set", "rows=64", "--set", "cols=64", "--device"})
    words.push_back(word);
  words.push_back(device);
  return words;
}

}  // namespace

TEST_CASE("bench reports every workload as a JSON object") {
  const auto results = tool_json(bench({"gelu", "linear_gelu", "--set", "dim=32", "--json"}));
  REQUIRE(results.size() == 2);
  const auto& gelu = results[0];
  CHECK(keys(gelu) == std::vector<std::string>{"bytes", "copy_gbps", "device", "eager_launches", "eager_ms",
                                               "eager_spread", "first_call_ms", "first_call_warm_ms",
                                               "fused_launches", "fused_ms", "fused_spread", "gbps", "inputs",
                                               "name", "percent_of_copy", "ratio"});
  CHECK(gelu["name"] == "gelu");
  CHECK(gelu["device"] == "cpu");
  CHECK(gelu["bytes"] == 2 * 64 * 64 * 4);
  CHECK(gelu["eager_launches"] == 9);
  CHECK(gelu["fused_launches"] == 1);
  CHECK(gelu["inputs"][0] == "x: f32[64, 64]");
  for (const char* key :
       {"eager_ms", "fused_ms", "gbps", "percent_of_copy", "copy_gbps", "first_call_warm_ms"}) {
    INFO(key);
    CHECK(gelu[key].get<double>() > 0);
  }
  CHECK(gelu["ratio"].get<double>() ==
        Approx(gelu["eager_ms"].get<double>() / gelu["fused_ms"].get<double>()));
  CHECK(gelu["percent_of_copy"].get<double>() ==
        Approx(100 * gelu["gbps"].get<double>() / gelu["copy_gbps"].get<double>()));
  CHECK(gelu["first_call_ms"].get<double>() > 0);
  CHECK(gelu["fused_spread"]["repetitions"].get<int>() >= 3);
  CHECK(gelu["fused_spread"]["p10_ms"].get<double>() <= gelu["fused_ms"].get<double>());
  CHECK(results[1]["tflops"].get<double>() ==
        Approx(2.0 * 64 * 64 * 32 / results[1]["fused_ms"].get<double>() / 1e9));
}

TEST_CASE("bench prints a table, and writes it with the machine it is of") {
  const TemporaryDirectory directory;
  const std::string table =
      tool_output(bench({"gelu", "chain", "--against-handwritten", "--markdown", directory / "cpu.md"}));
  for (const char* text : {"copy bandwidth", "eager ms", "by hand ms", "\ngelu ", "\nchain ", "60 to 1"})
    CHECK_THAT(table, ContainsSubstring(text));
  const std::string document = read_text(directory / "cpu.md");
  for (const char* text :
       {"# Eager against fused: cpu", "- processor: ", "- cores: ", "- sinter: ", "- compiler: ",
        "- OpenBLAS: ", "- date: 20", "| workload | inputs | eager ms |", "| gelu | x: f32[64, 64] |"})
    CHECK_THAT(document, ContainsSubstring(text));
}

TEST_CASE("bench leaves out what it is told to") {
  const auto words = bench({"gelu", "--no-first-call", "--no-eager"});
  CHECK_THAT(tool_output(words), ContainsSubstring("workload  fused ms"));
  CHECK_THAT(tool_output(words), !ContainsSubstring("first call"));
  CHECK_THAT(tool_output(words), !ContainsSubstring("ratio"));
  const auto result = tool_json(bench({"gelu", "--no-first-call", "--no-eager", "--json"}))[0];
  for (const char* key : {"eager_ms", "eager_spread", "ratio", "first_call_ms", "first_call_warm_ms"}) {
    INFO(key);
    CHECK_FALSE(result.contains(key));
  }
  CHECK(result["fused_ms"].get<double>() > 0);
}

TEST_CASE("bench answers a batch line by line, mistakes too") {
  const TemporaryDirectory directory;
  const std::string file = directory.write(
      "batch",
      "gelu --set rows=8 --set cols=16 --set dtype=bf16 --no-first-call --no-eager --seconds 0.01\n\n"
      "sofmax\n"
      "silu --seconds none\n"
      "sum --set rows=8 --set cols=4 --no-first-call --seconds 0.01 --output-dir " +
          (directory / "out") + "\n");
  std::istringstream lines(tool_output({"bench", "--batch", file, "--device", "cpu"}));
  std::vector<nlohmann::json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(nlohmann::json::parse(line));
  REQUIRE(answers.size() == 4);
  CHECK(answers[0][0]["bytes"] == 2 * 8 * 16 * 2);
  CHECK_THAT(answers[1]["error"].get<std::string>(), ContainsSubstring("did you mean softmax?"));
  CHECK_THAT(answers[2]["error"].get<std::string>(), ContainsSubstring("a number above 0"));
  CHECK(answers[3][0]["eager_ms"].get<double>() > 0);
  CHECK(std::filesystem::exists(directory / "out/out0.npy"));
  // Options belong to the lines.
  const ToolRun refused = run_tool({"bench", "--batch", file, "--no-eager"});
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.err, ContainsSubstring("--no-eager excludes --batch"));
}

TEST_CASE("bench counts of a table that is read in places what must move") {
  const auto bytes = [](const std::string& batch) {
    return tool_json({"bench", "embedding", "--set", "rows=32", "--set", "cols=8", "--set", "batch=" + batch,
                      "--seconds", "0.01", "--no-first-call", "--device", "cpu", "--json"})[0]["bytes"]
        .get<double>();
  };
  CHECK(bytes("4") == 4 * 8 * 4 + 4 * 8 + 4 * 8 * 4);      // rows that are read, index, result
  CHECK(bytes("64") == 32 * 8 * 4 + 64 * 8 + 64 * 8 * 4);  // the table once
}

TEST_CASE("bench takes graphs from files") {
  const TemporaryDirectory directory;
  const std::string file = directory.write(
      "f.graph", "graph @f(%x: f32[M, 8]) {\n  %0 = tanh(%x)\n  %1 = exp(%0)\n  return %1\n}\n");
  const auto results =
      tool_json({"bench", file, "--set", "M=16", "--seconds", "0.05", "--device", "cpu", "--json"});
  CHECK(results[0]["name"] == file);
  CHECK(results[0]["eager_launches"] == 2);
  CHECK(results[0]["bytes"] == 2 * 16 * 8 * 4);
}

TEST_CASE("bench takes inputs from files, and lengths from them") {
  const TemporaryDirectory directory;
  tool_output({"run", "gelu", "--set", "rows=24", "--set", "cols=16", "--device", "cpu", "--output-dir",
               directory.path()});
  const std::string file =
      directory.write("f.graph", "graph @f(%x: f32[M, 16]) {\n  %0 = tanh(%x)\n  return %0\n}\n");
  const auto results =
      tool_json({"bench", file, "--input", "x=" + directory / "out0.npy", "--seconds", "0.05", "--device",
                 "cpu", "--no-first-call", "--output-dir", directory / "out", "--json"});
  CHECK(std::filesystem::exists(directory / "out/out0.npy"));
  CHECK(results[0]["inputs"][0] == "x: f32[24, 16]");
  const ToolRun two = run_tool({"bench", "gelu", "silu", "--input", "x=" + directory / "out0.npy"});
  CHECK(two.exit_code == 1);
  CHECK_THAT(two.err, ContainsSubstring("are for one workload"));
}

TEST_CASE("bench on a GPU reports the same, by its own clock") {
  need_gpu();
  const TemporaryDirectory directory;
  const auto results = tool_json(bench({"gelu", "linear_gelu", "--set", "dim=32", "--json"}, "cuda"));
  const auto on_cpu = tool_json(bench({"gelu", "linear_gelu", "--set", "dim=32", "--json"}));
  for (std::size_t i : {0, 1}) {
    CHECK(keys(results[i]) == keys(on_cpu[i]));
    CHECK(results[i]["device"] == "cuda");
    for (const char* key : {"eager_ms", "fused_ms", "percent_of_copy", "copy_gbps", "first_call_warm_ms"}) {
      INFO(key);
      CHECK(results[i][key].get<double>() > 0);
    }
  }
  tool_output(bench({"gelu", "--no-first-call", "--markdown", directory / "gpu.md"}, "cuda"));
  const std::string document = read_text(directory / "gpu.md");
  for (const char* text : {"- GPU: ", "- CUDA driver: ", "- NVRTC: ", "- cuBLASLt: ", "CUDA events"})
    CHECK_THAT(document, ContainsSubstring(text));
}
