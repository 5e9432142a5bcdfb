// run: what comes out for inputs whose results are known, in every mode, and what is written.
#include <sinter/sinter.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/support/sandbox.h"
#include "tests/tool/tool.h"

using namespace sinter::testing;
using Catch::Matchers::ContainsSubstring;
using sinter::Tensor;

namespace {

const std::vector<std::string> modes{"reference", "typed", "eager", "fused"};

/// Runs with outputs in the directory, and gives the first one.
Tensor first_output(std::vector<std::string> arguments, const TemporaryDirectory& directory) {
  arguments.insert(arguments.begin(), "run");
  arguments.insert(arguments.end(), {"--output-dir", directory / "out"});
  tool_output(arguments);
  return sinter::load(directory / "out/out0.npy");
}

std::string save(const TemporaryDirectory& directory, const std::string& name, const Tensor& x) {
  sinter::save_npy(x, directory / (name + ".npy"));
  return name + "=" + (directory / (name + ".npy"));
}

void check_close(const Tensor& got, const std::vector<double>& wanted, double tolerance) {
  const std::vector<float> values = got.to_vector<float>();
  REQUIRE(values.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(values[i] == Approx(wanted[i]).epsilon(tolerance).margin(1e-7));
}

}  // namespace

TEST_CASE("run computes what is known of gelu, in every mode") {
  const TemporaryDirectory directory;
  const std::string input = save(directory, "x", sinter::from_vector<float>({0, 1, -1, 3, -30, 30}, {2, 3}));
  for (const std::string& mode : modes) {
    INFO(mode);
    const Tensor y = first_output({"gelu", "--input", input, "--mode", mode}, directory);
    CHECK(y.shape() == sinter::Shape{2, 3});
    check_close(y, {0, 0.84119199061, -0.15880800939, 2.99636253190, 0, 30}, 1e-6);
  }
}

TEST_CASE("run takes lengths from inputs whose lengths are formulas") {
  const TemporaryDirectory directory;
  const std::string file =
      directory.write("f.graph", "graph @f(%x: f32[2*M], %y: f32[M]) {\n  return sum(%x), %y\n}\n");
  const std::string x = save(directory, "x", sinter::ones({6}));
  CHECK(first_output({file, "--input", x}, directory).item<float>() == 6);
  CHECK(sinter::load(directory / "out/out1.npy").shape() == sinter::Shape{3});
}

TEST_CASE("run computes what is known of softmax and cross entropy, in every mode") {
  const TemporaryDirectory directory;
  const float two = std::log(2.0f);
  const Tensor logits = sinter::from_vector<float>({0, two, 2 * two, 10, 10, 10}, {2, 3});
  const std::string x = save(directory, "x", logits), given = save(directory, "logits", logits),
                    labels = save(directory, "labels", sinter::from_vector<std::int64_t>({2, 0}));
  for (const std::string& mode : modes) {
    INFO(mode);
    check_close(first_output({"softmax", "--input", x, "--mode", mode}, directory),
                {1.0 / 7, 2.0 / 7, 4.0 / 7, 1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-6);
    check_close(
        first_output({"cross_entropy", "--input", given, "--input", labels, "--mode", mode}, directory),
        {std::log(7.0 / 4), std::log(3.0)}, 1e-6);
  }
}

TEST_CASE("run computes what is known of layernorm, matmul and cdist") {
  const TemporaryDirectory directory;
  const Tensor x = sinter::from_vector<float>({1, 2, 3, 4}, {2, 2});
  const std::string one = save(directory, "weight", sinter::from_vector<float>({1, 2})),
                    zero = save(directory, "bias", sinter::from_vector<float>({0, 1}));
  const double normal = 0.5 / std::sqrt(0.25 + 1e-5);
  check_close(first_output({"layernorm", "--input", save(directory, "x", x), "--input", one, "--input", zero},
                           directory),
              {-normal, 2 * normal + 1, -normal, 2 * normal + 1}, 1e-5);
  check_close(first_output({"matmul", "--input", save(directory, "x", x), "--input", save(directory, "w", x)},
                           directory),
              {7, 10, 15, 22}, 1e-6);
  check_close(first_output({"cdist", "--input", save(directory, "a", x), "--input",
                            save(directory, "b", sinter::from_vector<float>({1, 2, 1, 6}, {2, 2}))},
                           directory),
              {0, 4, std::sqrt(8.0), std::sqrt(8.0)}, 1e-5);
}

TEST_CASE("eager and fused give what the reference gives, for every workload") {
  const TemporaryDirectory directory;
  for (const std::string& workload : workload_names())
    for (const std::string dtype : {"f32", "bf16"}) {
      std::vector<std::string> arguments = small(workload);
      arguments.insert(arguments.begin(), workload);
      arguments.insert(arguments.end(), {"--set", "dtype=" + dtype, "--seed", "3"});
      auto output = [&](const std::string& mode) {
        std::vector<std::string> words = arguments;
        words.insert(words.end(), {"--mode", mode, "--output-dir", directory / "out"});
        words.insert(words.begin(), "run");
        tool_output(words);
        const std::string file = directory / "out/out0.npy";
        return dtype == "bf16" ? sinter::load(file, sinter::bf16).astype(sinter::f32) : sinter::load(file);
      };
      INFO(workload << " in " << dtype);
      const Tensor reference = output("reference"), fused = output("fused");
      CHECK(reference.size() > 0);
      // An error of some roundings where a value is about 1; products of matrices and chains of layers
      // collect more.
      const double tolerance = dtype == "bf16" ? 0.04 : 2e-5;
      CHECK(sinter::allclose(fused, reference, tolerance, tolerance));
      if (dtype == "f32") CHECK(sinter::allclose(output("eager"), reference, tolerance, tolerance));
    }
}

TEST_CASE("the seed decides the inputs") {
  const std::vector<std::string> words{"run", "silu", "--set", "rows=3", "--set", "cols=5", "--seed"};
  auto with_seed = [&](const std::string& seed) {
    std::vector<std::string> arguments = words;
    arguments.push_back(seed);
    return tool_output(arguments);
  };
  CHECK(with_seed("1") == with_seed("1"));
  CHECK(with_seed("1") != with_seed("2"));
}

TEST_CASE("class labels are drawn from the classes there are") {
  const TemporaryDirectory directory;
  const std::string graph = directory.write(
      "labels.graph",
      "graph @labels(%x: f32[64, 3], %i: int64[64, 1]) {\n  %0 = take_along_axis(%x, %i, axis=1)\n"
      "  return %0, %i\n}\n");
  tool_output({"run", graph, "--output-dir", directory / "out"});
  const std::vector<std::int64_t> labels = sinter::load(directory / "out/out1.npy").to_vector<std::int64_t>();
  CHECK(*std::min_element(labels.begin(), labels.end()) == 0);
  CHECK(*std::max_element(labels.begin(), labels.end()) == 2);
}

TEST_CASE("outputs are written under their names, and said") {
  const TemporaryDirectory directory;
  const std::string graph = directory.write("f.graph",
                                            "graph @f(%x: bf16[M, 2]) {\n  %0 = neg(%x)\n  %1 = mul(%x, "
                                            "%x)\n  return %0, \"a/b\"=%1, total=%x, a.b=%0\n}\n");
  const std::string text = tool_output({"run", graph, "--set", "M=3", "--output-dir", directory / "new/out"});
  const std::vector<std::string> lines{"out0: bf16[3, 2] in ", "a/b: bf16[3, 2] in ",
                                       "as the uint16 of its bits"};
  for (const std::string& line : lines) CHECK_THAT(text, ContainsSubstring(line));
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "new/out"))
    files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  CHECK(files == std::vector<std::string>{"a_b.npy", "a_b_2.npy", "out0.npy", "total.npy"});
  const Tensor x = sinter::load(directory / "new/out/total.npy", sinter::bf16);
  CHECK(x.shape() == sinter::Shape{3, 2});
  CHECK(sinter::array_equal(sinter::load(directory / "new/out/a_b_2.npy", sinter::bf16), -x));

  const auto json = tool_json({"run", graph, "--set", "M=3", "--output-dir", directory / "json", "--json"});
  CHECK(keys(json) == std::vector<std::string>{"mode", "name", "outputs"});
  CHECK(json["outputs"][1]["name"] == "a/b");
  CHECK(json["outputs"][1]["dtype"] == "bf16");
  CHECK(json["outputs"][1]["shape"] == std::vector<int>{3, 2});
  CHECK(json["outputs"][1]["file"] == directory / "json/a_b.npy");
}

TEST_CASE("outputs of very long names are written under their beginnings") {
  const TemporaryDirectory directory;
  const std::string name(5000, 'c');
  const std::string graph = directory.write(
      "f.graph", "graph @f(%x: f32[2]) {\n  return " + name + "=%x, " + name + "d=neg(%x)\n}\n");
  tool_output({"run", graph, "--output-dir", directory / "out"});
  CHECK(sinter::load(directory / ("out/" + name.substr(0, 200) + ".npy")).shape() == sinter::Shape{2});
  CHECK(sinter::load(directory / ("out/" + name.substr(0, 200) + "_2.npy")).shape() == sinter::Shape{2});
}

TEST_CASE("lengths follow the inputs that are given") {
  const TemporaryDirectory directory;
  const std::string x = save(directory, "x", sinter::ones({2, 3}));
  CHECK(tool_json({"run", "bias_gelu", "--input", x, "--json"})["outputs"][0]["shape"] ==
        std::vector<int>{2, 3});
  const std::string graph = directory.write("f.graph",
                                            "graph @f(%x: f32[N, 3], %y: f32[N]) {\n  %0 = sum(%x, "
                                            "axes=[1])\n  %1 = add(%0, %y)\n  return %1\n}\n");
  CHECK(tool_json({"run", graph, "--input", x, "--json"})["outputs"][0]["shape"] == std::vector<int>{2});
  const ToolRun run = run_tool({"run", "gelu", "--set", "rows=4", "--input", x});
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.err, ContainsSubstring("f32[2, 3]"));
}

TEST_CASE("an input of no elements gives an output of none") {
  CHECK(tool_json({"run", "softmax", "--set", "rows=0", "--set", "cols=4",
                   "--json"})["outputs"][0]["shape"] == std::vector<int>{0, 4});
}
