// list, explain, source, dot, compile: what the tool says of a function without running it.
#include <algorithm>
#include <set>

#include "tests/catch.h"
#include "tests/support/sandbox.h"
#include "tests/tool/tool.h"

using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string own_formula = R"(graph @own(%x: f32[M, 64], %b: f32[64]) where M % 8 == 0 {
  %0 = add(%x, %b)
  %1 = tanh(%0)
  %2 = sum(%1, axes=[1], keepdims=true)
  %3 = div(%1, %2)
  return %3
}
)";

const std::vector<std::string> targets{"cpu", "cuda"};

}  // namespace

TEST_CASE("list names every workload of the suite once") {
  const std::vector<std::string> names = workload_names();
  const std::vector<std::string> wanted{"gelu",
                                        "gelu_erf",
                                        "silu",
                                        "swiglu",
                                        "bias_gelu",
                                        "softmax",
                                        "log_softmax",
                                        "layernorm",
                                        "rmsnorm",
                                        "add_rmsnorm",
                                        "cross_entropy",
                                        "column_sum",
                                        "sum",
                                        "add_transposed",
                                        "adamw",
                                        "matmul",
                                        "linear_gelu",
                                        "layernorm_linear_gelu",
                                        "mlp",
                                        "cdist",
                                        "chain",
                                        "layernorm_backward",
                                        "rmsnorm_backward",
                                        "sum_and_sumsq",
                                        "permute0213",
                                        "nchw_to_nhwc",
                                        "embedding",
                                        "embedding_backward",
                                        "embedding_backward_one_often",
                                        "adamw_many"};
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const std::string& name : wanted) {
    INFO(name);
    CHECK(std::ranges::find(names, name) != names.end());
  }
  const std::string table = tool_output({"list"});
  for (const std::string& name : names) CHECK_THAT(table, ContainsSubstring(name + " "));
}

TEST_CASE("explain says what runs, in words and as JSON") {
  const std::string text = tool_output({"explain", "softmax"});
  CHECK_THAT(text, ContainsSubstring("softmax: 1 launch fused, 5 eager"));
  CHECK_THAT(text, ContainsSubstring("schedule "));
  CHECK_THAT(text, ContainsSubstring("67108864"));

  const auto facts = tool_json({"explain", "mlp", "--json"});
  CHECK(keys(facts) == std::vector<std::string>{"boundaries", "eager_launches", "gemms", "kernels",
                                                "launches", "peak_bytes"});
  CHECK(facts["gemms"].size() == 4);
  CHECK(facts["gemms"][0]["m"] == 128);
  CHECK(facts["gemms"][0]["n"] == 512);
  CHECK(facts["gemms"][0]["k"] == 512);
  CHECK(facts["gemms"][0]["batch"] == 1);
  CHECK(facts["gemms"][0]["dtype"] == "f32");
  CHECK(facts["launches"] == 8);
  for (const auto& kernel : facts["kernels"])
    for (const char* key : {"name", "ops", "schedule", "bytes_read", "bytes_written"}) {
      INFO(key);
      CHECK(kernel.contains(key));
    }
  for (const auto& boundary : facts["boundaries"])
    for (const char* key : {"from", "to", "reason"}) {
      INFO(key);
      CHECK(boundary.contains(key));
    }
}

TEST_CASE("what needs one pass over memory is one kernel on either target") {
  const std::string what =
      GENERATE("gelu", "gelu_erf", "silu", "swiglu", "bias_gelu", "softmax", "log_softmax", "layernorm",
               "rmsnorm", "add_rmsnorm", "cross_entropy", "adamw", "add_transposed", "column_sum", "sum",
               "chain", "sum_and_sumsq", "permute0213", "nchw_to_nhwc", "embedding");
  for (const std::string& target : targets)
    for (const char* dtype : {"f32", "bf16", "f16"}) {
      INFO(what << " for " << target << " in " << dtype);
      const auto facts =
          tool_json({"explain", what, "--target", target, "--set", std::string("dtype=") + dtype, "--json"});
      CHECK(facts["launches"] == 1);
      CHECK(facts["kernels"].size() == 1);
      CHECK(facts["gemms"].empty());
      CHECK(facts["boundaries"].empty());
    }
}

TEST_CASE(
    "kernels have names of their own, and as many launches as the program, where one folds what another "
    "left") {
  for (const char* what : {"layernorm_backward", "adamw_many", "embedding_backward"}) {
    const auto facts = tool_json({"explain", what, "--target", "cuda", "--arch", "sm_90a", "--json"});
    INFO(facts.dump(1));
    std::set<std::string> ids, launches;
    for (const auto& kernel : facts["kernels"]) {
      ids.insert(kernel["id"].get<std::string>());
      launches.insert(kernel["launch"].get<std::string>());
    }
    CHECK(ids.size() == facts["kernels"].size());
    CHECK(std::ranges::includes(ids, launches));
    CHECK(launches.size() == facts["launches"]);
  }
}

TEST_CASE("explain says why a fold is not made along with the one whose result it needs") {
  const TemporaryDirectory directory;
  const std::string file =
      directory.write("apart.graph",
                      "graph @f(%x: f32[512, 65536]) {\n  %m = mul(sum(%x, axes=[1], keepdims=true), 0.5)\n"
                      "  return sum(exp(sub(%x, %m)), axes=[1])\n}\n");
  CHECK_THAT(tool_output({"explain", file, "--target", "cuda"}),
             ContainsSubstring("apart    v6 is folded after v1: "));
  const auto facts = tool_json({"explain", file, "--target", "cuda", "--json"});
  CHECK(facts["kernels"][0]["apart"].size() == 1);
  CHECK_FALSE(
      tool_json({"explain", "softmax", "--target", "cuda", "--json"})["kernels"][0].contains("apart"));
}

TEST_CASE("explain and dot say which products add a bias at their end") {
  const auto epilogue = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"explain", "linear_gelu", "--json"});
    return tool_json(words)["gemms"][0]["epilogue"];
  };
  CHECK(epilogue({"--target", "cuda"}) == "bias");
  CHECK(epilogue({"--target", "cuda", "--set", "dtype=bf16"}) == "bias");
  CHECK(epilogue({"--target", "cuda", "--set", "rows=M"}) == "bias");
  CHECK(epilogue({"--target", "cuda", "--set", "dtype=f64"}) == "none");
  CHECK(epilogue({"--target", "cuda", "--numerics", "strict"}) == "none");
  CHECK(epilogue({"--target", "cpu"}) == "none");
  CHECK_THAT(tool_output({"explain", "linear_gelu", "--target", "cuda"}),
             ContainsSubstring("product of 1024 x 1024 by 1024 x 1024 (f32, batch 1), bias added"));
  CHECK_THAT(tool_output({"dot", "linear_gelu", "--target", "cuda"}), ContainsSubstring("matmul + bias"));
  CHECK_THAT(tool_output({"dot", "linear_gelu", "--target", "cpu"}), !ContainsSubstring("matmul + bias"));
}

TEST_CASE("a formula of one's own, with a length of no value, is one kernel as well") {
  const TemporaryDirectory directory;
  const std::string file = directory.write("own.graph", own_formula);
  for (const std::string& target : targets) {
    INFO(target);
    const auto facts = tool_json({"explain", file, "--target", target, "--json"});
    CHECK(facts["launches"] == 1);
    CHECK(facts["eager_launches"] == 4);
    CHECK_FALSE(facts["kernels"][0]["bytes_written"].is_number());
  }
  const auto facts = tool_json({"explain", file, "--set", "M=16", "--json"});
  CHECK(facts["kernels"][0]["bytes_written"] == 16 * 64 * 4);
}

TEST_CASE("lengths of a workload may be symbols") {
  const auto facts = tool_json({"explain", "gelu", "--set", "rows=M", "--json"});
  CHECK(facts["launches"] == 1);
  CHECK_FALSE(facts["kernels"][0]["bytes_read"].is_number());
  const auto known =
      tool_json({"explain", "gelu", "--set", "rows=M", "--set", "M=2", "--set", "cols=3", "--json"});
  CHECK(known["kernels"][0]["bytes_read"] == 2 * 3 * 4);
}

TEST_CASE("source prints what the target's compiler is given") {
  const std::string cuda = tool_output({"source", "gelu", "--target", "cuda", "--arch", "sm_90a"});
  CHECK_THAT(cuda, ContainsSubstring("__global__"));
  CHECK_THAT(cuda, !ContainsSubstring("#include"));
  CHECK(tool_output({"source", "gelu", "--arch", "sm_90a"}) == cuda);
  const std::string cpu = tool_output({"source", "gelu", "--target", "cpu"});
  CHECK_THAT(cpu, !ContainsSubstring("__global__"));
  CHECK_THAT(cpu, ContainsSubstring("tanh"));
  const auto json = tool_json({"source", "gelu", "--target", "cpu", "--json"});
  CHECK(json["source"] == cpu);
  CHECK(json["target"] == "cpu");
}

TEST_CASE("dot shows the graph at every stage, on standard output or in a file") {
  for (const char* stage : {"captured", "optimized", "fused"}) {
    INFO(stage);
    const std::string text = tool_output({"dot", "softmax", "--stage", stage});
    CHECK_THAT(text, ContainsSubstring("digraph"));
    CHECK((text.find("cluster_k0") != std::string::npos) == (std::string(stage) == "fused"));
  }
  const TemporaryDirectory directory;
  CHECK(tool_output({"dot", "softmax", "-o", directory / "softmax.dot"}).empty());
  CHECK(read_text(directory / "softmax.dot") == tool_output({"dot", "softmax"}));
  CHECK(directory.names() == std::vector<std::string>{"softmax.dot"});
  CHECK(tool_json({"dot", "softmax", "--json"})["dot"] == tool_output({"dot", "softmax"}));
}

namespace {

/// Compiling needs the CUDA backend and NVRTC, but no GPU.
void need_nvrtc() {
  const ToolRun run = run_tool({"compile", "gelu", "--set", "rows=8", "--set", "cols=8"});
  if (run.exit_code != 0) SINTER_SKIP("no NVRTC: " + run.err);
}

}  // namespace

TEST_CASE("compile shows what each kernel uses, in words and as JSON") {
  need_nvrtc();
  const std::string text = tool_output({"compile", "gelu", "--arch", "sm_80"});
  CHECK_THAT(text, ContainsSubstring("gelu for sm_80 by NVRTC"));
  CHECK_THAT(text, ContainsSubstring("1 x 16"));

  const auto facts = tool_json({"compile", "gelu", "--arch", "sm_90a", "--json"});
  CHECK(keys(facts) == std::vector<std::string>{"boundaries", "eager_launches", "gemms", "kernels",
                                                "launches", "peak_bytes"});
  REQUIRE(facts["kernels"].size() == 1);
  const auto& kernel = facts["kernels"][0];
  for (const char* key : {"name", "ops", "schedule", "bytes_read", "bytes_written"}) {
    INFO(key);
    CHECK(kernel.contains(key));
  }
  CHECK(kernel["registers"] > 8);
  CHECK(kernel["registers"] < 64);
  CHECK(kernel["spill_bytes"] == 0);
  CHECK(kernel["shared_bytes"] == 0);
  CHECK(kernel["load_bytes"] == 16);
  CHECK(kernel["store_bytes"] == 16);
  CHECK(kernel["loads"] == nlohmann::json::parse(R"([{"tensor": "in0", "bytes": 16, "count": 1}])"));
  CHECK(kernel["stores"] == nlohmann::json::parse(R"([{"tensor": "out0", "bytes": 16, "count": 1}])"));
  // A row of 16384 f32, which the launch makes room for.
  const auto row = tool_json({"compile", "softmax", "--set", "cols=16384", "--arch", "sm_90a", "--json"});
  CHECK(row["kernels"][0]["shared_bytes"] >= 16384 * 4);
  CHECK(kernel["compile_ms"] > 1);
}

TEST_CASE("compile says why there are fewer kernels than launches") {
  need_nvrtc();
  const std::string product = tool_output({"compile", "matmul"});
  CHECK_THAT(product,
             ContainsSubstring("\na matrix product runs in cuBLASLt; no kernel is compiled for it\n"));
  CHECK_THAT(product, !ContainsSubstring("registers"));
  const std::string several = tool_output({"compile", "mlp"});
  CHECK_THAT(several, ContainsSubstring("matrix products run in cuBLASLt; no kernel is compiled for them\n"));
  CHECK_THAT(several, ContainsSubstring("registers"));
  const TemporaryDirectory directory;
  const std::string same = directory.write("same.graph", "graph @same(%x: f32[4]) { return %x }");
  CHECK_THAT(tool_output({"compile", same}), ContainsSubstring("nothing is computed"));
}

TEST_CASE("compile takes lengths without a value, and an architecture of PTX") {
  need_nvrtc();
  const auto open = tool_json({"compile", "gelu", "--set", "rows=M", "--set", "cols=N", "--json"});
  CHECK(open["kernels"][0]["registers"] > 8);
  const auto ptx = tool_json({"compile", "gelu", "--arch", "compute_90", "--json"});
  CHECK(ptx["kernels"][0]["registers"].is_null());
  CHECK(ptx["kernels"][0]["load_bytes"] == 16);
}

TEST_CASE("source --ptx prints what NVRTC makes of the source") {
  need_nvrtc();
  const std::string ptx = tool_output({"source", "gelu", "--arch", "sm_90a", "--ptx"});
  CHECK_THAT(ptx, ContainsSubstring(".target sm_90a"));
  CHECK_THAT(ptx, ContainsSubstring(".entry fused_"));
  const auto json = tool_json({"source", "gelu", "--arch", "sm_90a", "--ptx", "--json"});
  CHECK(json["target"] == "sm_90a");
  CHECK_THAT(json["ptx"].get<std::string>(), ContainsSubstring(".target sm_90a"));
}

TEST_CASE("what only NVRTC can say is refused in words without it, and for the CPU") {
  const std::vector<std::vector<std::string>> commands{{"compile", "gelu"},
                                                       {"source", "gelu", "--target", "cuda", "--ptx"}};
  for (const auto& command : commands) {
    const ToolRun run = run_tool(command, {{"SINTER_NVRTC", "/nowhere"}});
    CHECK(run.exit_code == 1);
    CHECK(run.out.empty());
    CHECK_THAT(run.err, ContainsSubstring("NVRTC"));
    // A build with the CUDA backend has searched.
    if (run.err.find("this build has none") == std::string::npos)
      CHECK_THAT(run.err, ContainsSubstring("/nowhere"));
  }
  const ToolRun compile = run_tool({"compile", "gelu", "--target", "cpu"});
  CHECK(compile.exit_code == 1);
  CHECK_THAT(compile.err, ContainsSubstring("CUDA kernels"));
  const ToolRun ptx = run_tool({"source", "gelu", "--target", "cpu", "--ptx"});
  CHECK(ptx.exit_code == 1);
  CHECK_THAT(ptx.err, ContainsSubstring("--target cuda"));
}

TEST_CASE("numeric modes are chosen on the command line or by the setting") {
  const std::string chosen = tool_output({"source", "gelu", "--numerics", "strict"});
  CHECK(chosen != tool_output({"source", "gelu"}));
  CHECK(run_tool({"source", "gelu"}, {{"SINTER_NUMERICS", "strict"}}).out == chosen);
}
