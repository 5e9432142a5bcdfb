// The workloads of the suite at small sizes, lengths on both sides of what schedules tell apart, in the float
// dtypes.
#include <fmt/format.h>
#include <sinter/sinter.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/parse.h"
#include "ir/rewrite.h"
#include "samples/suite/workload.h"
#include "tests/catch.h"
#include "tests/support/error_bounds.h"
#include "tests/support/run_program.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

ir::Graph graph_of(const suite::Workload& workload, const suite::Choices& choices) {
  const suite::Parameters parameters(workload.parameters, choices);
  std::vector<GraphInput> specs;
  for (const suite::Input& input : workload.inputs(parameters))
    specs.push_back({input.name, {input.dtype, input.shape}});
  const auto function = GraphFunction::record(workload.name, specs, [&](const suite::Tensors& tensors) {
    return workload.formula(tensors, parameters);
  });
  return ir::parse(function.lower(Target("cpu")).text());
}

/// Normal numbers, all positive where the workload says so; whole numbers from 0 to 6.
std::vector<ir::Array> inputs_for(const suite::Workload& workload, const suite::Choices& choices,
                                  const ir::Graph& g) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const std::vector<suite::Input> inputs = workload.inputs({workload.parameters, choices});
  std::vector<ir::Array> arrays;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ir::Array array(inputs[i].dtype, g.shape(g.inputs()[i]).values());
    for (std::int64_t k = 0; k < array.elements(); ++k) {
      const double x = normal(random);
      const bool positive = inputs[i].draw == suite::Draw::positive;
      array.set(k, is_float(array.dtype) ? ir::Scalar::from_real(array.dtype, positive ? std::abs(x) : x)
                                         : ir::Scalar::from_whole(array.dtype, k % 7));
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

void check(const suite::Workload& workload, const suite::Choices& choices,
           Numerics numerics = Numerics::standard) {
  std::string set;
  for (const auto& [name, value] : choices) set += fmt::format(" --set {}={}", name, value);
  INFO(workload.name << set);
  const ir::Graph g = graph_of(workload, choices);
  const std::vector<ir::Array> inputs = inputs_for(workload, choices, g);
  const std::vector<Bounded> expected = evaluate_bounded(g, inputs);
  CHECK(decided(expected) > 0.9);
  CHECK(mismatch(run_program(ir::without_dead_nodes(g), inputs, program_options(numerics)), expected) == "");
}

bool has(const suite::Workload& workload, std::string_view parameter) {
  return std::ranges::any_of(workload.parameters, [&](const auto& p) { return p.name == parameter; });
}

void check_all(const std::string& dtype) {
  for (const suite::Workload& workload : suite::workloads()) {
    if (has(workload, "dim")) {
      check(
          workload,
          {{"dtype", dtype}, {"rows", "24"}, {"cols", "40"}, {"dim", "64"}, {"batch", "8"}, {"layers", "2"}});
      check(workload,
            {{"dtype", dtype}, {"rows", "5"}, {"cols", "7"}, {"dim", "33"}, {"batch", "3"}, {"layers", "2"}});
      continue;
    }
    for (const char* cols : {"7", "96", "1000", "2048"})
      check(workload, {{"dtype", dtype}, {"rows", "6"}, {"cols", cols}, {"batch", "300"}, {"layers", "3"}});
  }
}

/// Rows of every class of length.
void check_rows(const std::string& dtype) {
  for (const char* name : {"softmax", "layernorm", "add_rmsnorm", "cross_entropy"})
    for (const char* cols : {"8",    "31",   "32",   "33",    "64",    "65",    "127",  "128",  "136",
                             "255",  "256",  "257",  "512",   "520",   "1023",  "1024", "1025", "4096",
                             "4104", "8192", "8200", "16384", "16392", "32768", "40000"})
      check(*suite::find_workload(name),
            {{"dtype", dtype}, {"rows", std::atoi(cols) < 300 ? "37" : "3"}, {"cols", cols}});
}

}  // namespace

TEST_CASE("workloads in f32") {
  check_all("f32");
}
TEST_CASE("workloads in bf16") {
  check_all("bf16");
}
TEST_CASE("workloads in f16") {
  check_all("f16");
}
TEST_CASE("workloads in f64") {
  check_all("f64");
}
TEST_CASE("workloads in the other numeric modes") {
  for (const suite::Workload& workload : suite::workloads())
    for (Numerics numerics : {Numerics::strict, Numerics::fast})
      for (const char* dtype : {"f32", "bf16"})
        check(workload,
              {{"dtype", dtype},
               {"rows", "6"},
               {"cols", "1000"},
               {"layers", "2"},
               {"dim", "32"},
               {"batch", "4"}},
              numerics);
}
TEST_CASE("rows of every class of length in f32") {
  check_rows("f32");
}
TEST_CASE("rows of every class of length in bf16") {
  check_rows("bf16");
}
