// ONNX node tests: each case either passes or is listed, with its reason, in skips.txt; a listed case that
// passes fails here, and so does a line of the list that no case needs.
#include <iostream>

#include "ir/evaluate_typed.h"
#include "tests/catch.h"
#include "tests/onnx/cases.h"
#include "tests/support/places.h"
#include "tests/support/run_program.h"

using namespace sinter;
using namespace sinter::testing::onnx;

namespace {

using Names = std::set<std::string>;

const Names elementwise{"Abs",         "Acos",
                        "Acosh",       "Add",
                        "And",         "Asin",
                        "Asinh",       "Atan",
                        "Atanh",       "BitShift",
                        "Cast",        "CastLike",
                        "Ceil",        "Celu",
                        "Clip",        "Constant",
                        "Cos",         "Cosh",
                        "Div",         "Elu",
                        "Equal",       "Erf",
                        "Exp",         "Floor",
                        "Greater",     "GreaterOrEqual",
                        "HardSigmoid", "HardSwish",
                        "Identity",    "IsInf",
                        "IsNaN",       "LeakyRelu",
                        "Less",        "LessOrEqual",
                        "Log",         "Max",
                        "Mean",        "Min",
                        "Mod",         "Mul",
                        "Neg",         "Not",
                        "Or",          "PRelu",
                        "Pow",         "Reciprocal",
                        "Relu",        "Round",
                        "Selu",        "Shrink",
                        "Sigmoid",     "Sign",
                        "Sin",         "Sinh",
                        "Softplus",    "Softsign",
                        "Sqrt",        "Sub",
                        "Sum",         "Tan",
                        "Tanh",        "ThresholdedRelu",
                        "Where",       "Xor"};
const Names reductions{"ArgMax",     "ArgMin",          "Hardmax",    "LayerNormalization",
                       "LogSoftmax", "ReduceL1",        "ReduceL2",   "ReduceLogSum",
                       "ReduceMax",  "ReduceLogSumExp", "ReduceMean", "ReduceMin",
                       "ReduceProd", "ReduceSum",       "Softmax",    "ReduceSumSquare"};
const Names products_and_shapes{
    "Concat", "ConstantOfShape", "Expand", "Flatten", "Gemm", "MatMul",    "Pad",      "Reshape", "Shape",
    "Size",   "Slice",           "Split",  "Squeeze", "Tile", "Transpose", "Unsqueeze"};
const Names losses{"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"};

/// The groups that the cases are run in: each holds those that need the operators of no later one.
const std::vector<Names> groups{elementwise, reductions, products_and_shapes, losses};

std::size_t group_of(const std::filesystem::path& path) {
  std::size_t group = 0;
  for (const std::string& name : operators_of(path)) {
    std::size_t own = 0;
    while (own < groups.size() && !groups[own].contains(name)) ++own;
    group = std::max(group, own);
  }
  return group;
}

std::vector<ir::Array> run_fused(ir::Graph graph, std::span<const ir::Array> inputs) {
  return sinter::testing::run_program(std::move(graph), inputs);
}

std::vector<ir::Array> run_typed(ir::Graph graph, std::span<const ir::Array> inputs) {
  return ir::evaluate_typed(graph, inputs);
}

const std::vector<ExpectedSkip>& expected_skips() {
  static const auto skips = read_expected_skips(sinter::testing::source_file("tests/onnx/skips.txt"));
  return skips;
}

const ExpectedSkip* find_expected_skip(const std::string& name) {
  for (const ExpectedSkip& skip : expected_skips())
    if (skip.matches(name)) return &skip;
  return nullptr;
}

/// Checks one case against the list; true when it passed.
bool check_against_list(const std::filesystem::path& path, const Run& run) {
  const std::string name = path.filename();
  const Verdict verdict = check_case(path, run);
  const ExpectedSkip* skip = find_expected_skip(name);
  INFO(name << ": " << verdict.message);
  if (skip == nullptr) {
    CHECK(verdict.outcome == Outcome::passed);
  } else if (skip->reason.starts_with("differs: ")) {
    CHECK(verdict.outcome == Outcome::failed);
  } else {
    CHECK(verdict.outcome == Outcome::unsupported);
    CHECK(verdict.message == skip->reason);
  }
  return verdict.outcome == Outcome::passed;
}

/// Checks the cases of one group, or with nothing given all of them.
void check_group(std::optional<std::size_t> group, const Run& run) {
  const auto cases = node_cases();
  if (cases.empty()) SINTER_SKIP("libonnx-testdata is not installed");
  int total = 0, passed = 0;
  for (const auto& path : cases) {
    if (group && group_of(path) != *group) continue;
    ++total;
    passed += check_against_list(path, run);
  }
  std::cout << passed << " of " << total << " cases pass\n";
}

}  // namespace

TEST_CASE("ONNX: elementwise operators", "[slow]") {
  check_group(0, run_fused);
}

TEST_CASE("ONNX: reductions, softmax and layer normalization", "[slow]") {
  check_group(1, run_fused);
}

TEST_CASE("ONNX: matrix products and shapes", "[slow]") {
  check_group(2, run_fused);
}

TEST_CASE("ONNX: losses", "[slow]") {
  check_group(3, run_fused);
}

TEST_CASE("ONNX: all other operators", "[slow]") {
  check_group(4, run_fused);
}

TEST_CASE("ONNX: every operator with the typed evaluator") {
  check_group(std::nullopt, run_typed);
}

TEST_CASE("ONNX: every expected skip names a case") {
  const auto cases = node_cases();
  if (cases.empty()) SINTER_SKIP("libonnx-testdata is not installed");
  for (const ExpectedSkip& skip : expected_skips()) {
    INFO(skip.pattern);
    CHECK(std::ranges::any_of(cases, [&](const auto& path) { return skip.matches(path.filename()); }));
  }
}
